"""Where plait's programs are, and how a test runs them."""

import json
import os
import pathlib
import subprocess

import schemas

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("PLAIT_BUILD", ROOT / "build"))
RUN_SECONDS_MAX = 300


def program(name):
    return str(BUILD / name)


def missing_programs():
    return [name for name in ("plait", "plaitd", "plait-worker") if not (BUILD / name).exists()]


def environment(**variables):
    """The environment without the settings that steer the tests; plaitd would refuse them."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PLAIT_")}
    # Whatever runtimes this machine has: tests of them name their interpreter.
    return {**kept, "PLAIT_RUNTIMES_PYTHON": "none", **variables}


class Finished:
    """A run of the CLI that is over."""

    def __init__(self, completed):
        self.code = completed.returncode
        self.out = completed.stdout
        self.err = completed.stderr

    @property
    def json(self):
        return json.loads(self.out)

    @property
    def last_error_line(self):
        lines = self.err.strip().splitlines()
        return lines[-1] if lines else ""

    def expect(self, code):
        assert self.code == code, f"exit code {self.code}, expected {code}\n{self.out}\n{self.err}"
        return self


class Cli:
    """Runs `plait`. Embedded mode keeps its data in `cache`."""

    def __init__(self, cache):
        self.cache = pathlib.Path(cache)
        self.variables = {}  # of a test's own

    def environment(self):
        return environment(XDG_CACHE_HOME=str(self.cache), **self.variables)

    def start(self, *words, **options):
        return subprocess.Popen([program("plait"), *map(str, words)], env=self.environment(),
                                text=True, **options)

    def run(self, *words):
        words = [str(word) for word in words]
        finished = Finished(subprocess.run(
            [program("plait"), *words], env=self.environment(), text=True,
            capture_output=True, timeout=RUN_SECONDS_MAX, check=False))
        if "--json" in words:
            schemas.check_output(words, finished.out)
        return finished
