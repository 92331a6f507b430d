"""The worker of runtimes as the build made it, and a server of the test's own."""

import os
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGES = pathlib.Path(os.environ.get("PLAIT_BUILD", ROOT / "build")).resolve() / "python"
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(PACKAGES))

from fake_server import FakeServer  # noqa: E402 (found through the lines above)
from plait_runtime_worker import runtimes  # noqa: E402


@pytest.fixture(params=runtimes.NAMES)
def runtime(request):
    """Each of the runtimes that are installed."""
    try:
        runtimes.version(request.param)
    except runtimes.Missing as error:
        pytest.skip(str(error))
    return request.param


@pytest.fixture
def server(tmp_path):
    with FakeServer(tmp_path, PACKAGES) as server:
        yield server
