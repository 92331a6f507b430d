"""Fixtures of the end-to-end tests: a daemon of one's own, the CLI, models as files."""

import pathlib
import shutil
import sys
import tempfile

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import learned  # noqa: E402 (found through the line above)
import models  # noqa: E402
import programs  # noqa: E402
from daemon import Daemon  # noqa: E402


def pytest_collection_modifyitems(items):
    missing = programs.missing_programs()
    assert not items or not missing, (
        f"{missing} are not in {programs.BUILD} (build, or set PLAIT_BUILD)")


@pytest.fixture
def folder():
    """A folder with a short name: the path of a unix socket may have 107 bytes."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="plait-"))
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def new_daemon(folder):
    """Makes daemons that are not started yet; all are gone when the test ends."""
    made = []

    def make(*arguments, name="data", **options):
        made.append(Daemon(folder / name, *arguments, **options))
        return made[-1]

    yield make
    for daemon in made:
        daemon.kill()


@pytest.fixture(scope="module")
def shared_daemon():
    """One daemon for the tests of a file that do not disturb it."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="plait-"))
    daemon = Daemon(path / "data").start()
    daemon.wait_for_worker()
    yield daemon
    daemon.kill()
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def client(shared_daemon):
    with shared_daemon.client() as client:
        yield client


@pytest.fixture
def cli(folder):
    """`plait` that knows this machine, and nothing else."""
    return learned.cli(folder / "cache")


@pytest.fixture
def new_cli(folder):
    """`plait` that has never run here."""
    return programs.Cli(folder / "new_cache")


@pytest.fixture
def model_file(folder):
    """Writes a model, by its name or its bytes, and returns the path."""

    def write(model, name=None):
        data = models.light_model(model) if isinstance(model, str) else model
        path = folder / f"{name or (model if isinstance(model, str) else 'model')}.onnx"
        path.write_bytes(data)
        return path

    return write
