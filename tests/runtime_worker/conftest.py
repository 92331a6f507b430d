"""The worker of runtimes as the build made it, and a server of the test's own."""

import os
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGES = pathlib.Path(os.environ.get("PLAIT_BUILD", ROOT / "build")).resolve() / "python"
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(PACKAGES))
sys.path.insert(0, str(ROOT / "tests" / "e2e"))

import plait_package  # noqa: E402 (found through the lines above, as what follows)
from fake_server import FakeServer  # noqa: E402
from plait_runtime_worker import runtimes  # noqa: E402


@pytest.fixture(scope="session")
def plait_folder(tmp_path_factory):
    """Where plait is found, as if it were installed."""
    folder = plait_package.link(tmp_path_factory.mktemp("packages"))
    sys.path.insert(0, str(folder))
    return folder


@pytest.fixture(params=runtimes.NAMES)
def runtime(request, plait_folder):
    """Each of the runtimes that are installed."""
    try:
        runtimes.version(request.param)
    except runtimes.Missing as error:
        pytest.skip(str(error))
    return request.param


@pytest.fixture
def server(tmp_path, plait_folder):
    with FakeServer(tmp_path, [PACKAGES, plait_folder]) as server:
        yield server
