"""Where plait's programs are: inside of the package, as a wheel has them, or on the PATH; and what
they run with."""

import os
import pathlib
import shutil
import sys

from plait.errors import NotFoundError

_BESIDE = pathlib.Path(__file__).parent / "bin"


def path_of(program: str) -> str:
    """The program `plait`, `plaitd` or `plait-worker`. Raises NotFoundError."""
    beside = _BESIDE / program
    if os.access(beside, os.X_OK):
        return str(beside)
    found = shutil.which(program)
    # A script that pip has made of an entry point would come back here.
    if found is None or _BESIDE.exists():
        raise NotFoundError(f"the program {program} is neither in {_BESIDE} nor on the PATH",
                            "NOT_FOUND")
    return found


def environment() -> dict[str, str]:
    """This process's, and the Python that has other runtimes: this one, unless another is named."""
    return {"PLAIT_RUNTIMES_PYTHON": sys.executable, **os.environ}
