"""The command lines. `python -m plait` and the script `plait` are the program plait, `plaitd` and
`plait-worker` those that it works with: this process becomes the program, so that signals, exit
codes and standard streams are the program's own."""

import os
import sys
from typing import NoReturn

from plait import _programs
from plait.errors import Error


def _become(program: str) -> NoReturn:
    try:
        os.execve(_programs.path_of(program), [program, *sys.argv[1:]], _programs.environment())
    except (Error, OSError) as error:
        sys.exit(f"{program}: {error}")


def plait() -> NoReturn:
    _become("plait")


def plaitd() -> NoReturn:
    _become("plaitd")


def plait_worker() -> NoReturn:
    _become("plait-worker")


if __name__ == "__main__":
    plait()
