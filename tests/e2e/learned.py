"""What plait learns once of a machine, and every new data directory would have to learn again."""

import fcntl
import functools
import pathlib
import shutil
import sqlite3
import subprocess
import tempfile

import models
import programs

LOAD_EFFECT_SECONDS = 180  # a sixth of it is for the load effect: enough on any machine
KEY = b"load_effect"


def _measure(path):
    with tempfile.TemporaryDirectory(prefix="plait-") as folder:
        folder = pathlib.Path(folder)
        model = folder / "model.onnx"
        model.write_bytes(models.small_model())
        subprocess.run(
            [programs.program("plait"), "optimize", model, "-o", folder / "out.onnx", "--search",
             "none", "--budget", f"{LOAD_EFFECT_SECONDS}s", "--cache-dir", folder / "cache"],
            env=programs.environment(), check=True, capture_output=True)
        database = sqlite3.connect(folder / "cache" / "data" / "profiles.db")
        with database:
            database.execute("DELETE FROM profiles WHERE key != ?", (KEY,))
        database.execute("VACUUM INTO ?", (str(folder / "learned.db"),))
        database.close()
        shutil.move(folder / "learned.db", path)


@functools.cache
def _profiles():
    """A database that holds the load effect of this machine and nothing else. It is measured once
    for a build of plaitd, by whichever test asks first."""
    built = int((programs.BUILD / "plaitd").stat().st_mtime)
    path = programs.BUILD / "tests" / f"learned-{built}.db"
    with path.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            _measure(path)
    return path


def give(data_dir):
    """Lets a data directory that is not there yet begin with it."""
    data_dir = pathlib.Path(data_dir)
    if data_dir.exists():
        return
    data_dir.mkdir(parents=True, mode=0o700)
    shutil.copy(_profiles(), data_dir / "profiles.db")


def cli(cache):
    """`plait` that knows this machine, and keeps its data in a folder that is not there yet."""
    cache = pathlib.Path(cache)
    give(cache / "plait" / "data")
    return programs.Cli(cache)
