"""Making the wheel, and virtual environments to install it in."""

import fcntl
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))

import programs  # noqa: E402 (found through the line above)

BUILD_SECONDS_MAX = 600


def run(*words, **options):
    """Runs a command; what it printed, if it succeeded."""
    options = {"timeout": BUILD_SECONDS_MAX, "env": programs.environment(), **options}
    finished = subprocess.run([str(word) for word in words], text=True, capture_output=True,
                              check=False, **options)
    assert finished.returncode == 0, f"{words}\n{finished.stdout}\n{finished.stderr}"
    return finished.stdout


def is_newer_than_its_parts(wheel):
    """Whether a wheel of an earlier run holds what the build folder holds."""
    build = programs.BUILD
    parts = [build / "plait", build / "plaitd", build / "plait-worker",
             build / "runtime/libplait_runtime.so", build / "runtime/python/messages.binpb",
             *(ROOT / "runtime/python").rglob("*.py"), ROOT / "pyproject.toml",
             ROOT / "tools/build-wheel", ROOT / "docs/python.md", ROOT / "CMakeLists.txt"]
    return all(part.stat().st_mtime < wheel.stat().st_mtime for part in parts)


def make():
    """The wheel of what the build folder holds. Of test processes one makes it, others wait."""
    folder = programs.BUILD / "wheel"
    with (programs.BUILD / "wheel.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for made in folder.glob("plait-*.whl"):
            if is_newer_than_its_parts(made):
                return made
        made = run(ROOT / "tools/build-wheel", folder,
                   env=programs.environment(PLAIT_BUILD=str(programs.BUILD)))
        return pathlib.Path(made.strip())


class Environment:
    """A virtual environment; plait in it keeps its data in a folder of the test session's. The pip
    of the tests installs into it: one of its own would take longer than what the tests install."""

    def __init__(self, folder):
        self.folder = folder
        self.variables = programs.environment(XDG_CACHE_HOME=str(folder / "cache"))
        # Nothing of the one that runs the tests.
        self.variables.pop("PYTHONPATH", None)
        run(sys.executable, "-m", "venv", "--without-pip", folder)

    def program(self, name):
        return self.folder / "bin" / name

    def install(self, *words):
        run(sys.executable, "-m", "pip", "--python", self.folder, "install", "--quiet",
            "--no-compile", "--disable-pip-version-check", *words)

    def run(self, *words, **options):
        return run(self.program(words[0]), *words[1:], env=self.variables, **options)

    def finish(self, *words, **options):
        """The same, for what may fail."""
        return subprocess.run([str(self.program(words[0])), *map(str, words[1:])], text=True,
                              capture_output=True, env=self.variables, check=False, **options)

    def python(self, code, *words):
        """Runs a program of Python, and returns what it printed."""
        return self.run("python", "-c", code, *words)
