#!/usr/bin/env python3
"""Makes the Python environments that the exporters run in, once, under build/.

The exporters need gigabytes of frameworks that must not be installed into anyone's own Python. As a
program it makes the one of tests/runtime, and prints its interpreter.
"""

import dataclasses
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
BUILD = HERE.parent.parent / "build"
CUDA_FOLDERS = (pathlib.Path("/usr/local/cuda"), pathlib.Path("/usr/local/cuda-13.0"))


class EnvironmentFailure(Exception):
    """An environment could not be made; the message says which step failed."""


@dataclasses.dataclass(frozen=True)
class Environment:
    """A virtual environment and the pip calls that fill it, in order."""

    name: str
    installs: tuple

    @property
    def folder(self):
        return BUILD / f"venv-{self.name}"

    @property
    def python(self):
        return self.folder / "bin" / "python"

    def ensure(self):
        """Makes the environment unless it is there with exactly these requirements."""
        wanted = self._wanted()
        stamp = self.folder / "plait-requirements"
        if stamp.is_file() and stamp.read_text() == wanted:
            return
        print(f"making {self.folder} (some minutes and gigabytes, once)", flush=True)
        # A half-made environment has no stamp, and starting over is the sure way to repair it.
        shutil.rmtree(self.folder, ignore_errors=True)
        _call([sys.executable, "-m", "venv", str(self.folder)], f"create {self.folder}")
        for install in self.installs:
            print(f"  pip install {' '.join(install)}", flush=True)
            _call([str(self.python), "-m", "pip", "install", "--quiet", *install],
                  f"install into {self.folder}")
        stamp.write_text(wanted)

    def _wanted(self):
        texts = [repr(self.installs)]
        for install in self.installs:
            texts += [pathlib.Path(word).read_text() for word in install if word.endswith(".txt")]
        return "\n".join(texts)


def _call(command, purpose):
    result = subprocess.run(command, check=False, stderr=subprocess.PIPE, text=True)
    if result.returncode != 0:
        raise EnvironmentFailure(f"cannot {purpose}:\n{result.stderr[-2000:]}")


def cuda13_toolkit_is_present():
    """Returns whether torch can take its CUDA libraries from this machine."""
    return any(list(folder.glob("lib*/libcudart.so.13*")) for folder in CUDA_FOLDERS)


def torch_environment():
    """Returns the environment of export_torch.py and export_sru.py.

    PyPI's torch depends on gigabytes of CUDA wheels. Where the toolkit has them already, torch is
    installed without its dependencies; elsewhere a plain install does.
    """
    rest = ("-r", str(HERE / "requirements-torch.txt"))
    torch = ("-r", str(HERE / "requirements-torch-only.txt"))
    if cuda13_toolkit_is_present():
        return Environment("torch", (("--no-deps", *torch), rest))
    lines = (HERE / "requirements-torch-only.txt").read_text().splitlines()
    plain = tuple(line for line in lines if line.startswith("torch"))
    return Environment("torch", (plain, rest))


def runtimes_environment():
    """Returns the environment of tests/runtime: torch, and every runtime that plait is compared
    with, so that all of them can be loaded into one process."""
    peers = ("-r", str(HERE.parent / "peers" / "requirements-peers.txt"))
    return Environment("runtimes", (*torch_environment().installs, peers))


def keras_environment():
    """Returns the environment of export_keras.py."""
    return Environment("keras", (("-r", str(HERE / "requirements-keras.txt")),))


def main():
    environment = runtimes_environment()
    try:
        environment.ensure()
    except EnvironmentFailure as error:
        print(f"environments.py: {error}", file=sys.stderr)
        return 1
    print(environment.python)
    return 0


if __name__ == "__main__":
    sys.exit(main())
