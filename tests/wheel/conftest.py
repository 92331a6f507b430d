"""The wheel, made once, and a virtual environment with nothing but it and numpy."""

import pathlib
import re

import pytest
import wheels
from wheels import programs

import models


def pytest_collection_modifyitems(items):
    cache = (programs.BUILD / "CMakeCache.txt").read_text()
    is_sanitized = re.search(r"^PLAIT_SANITIZE:\w+=.", cache, re.MULTILINE)
    folder = pathlib.Path(__file__).parent
    for item in items:
        if item.path.parent != folder:  # all tests of a run come by here
            continue
        if is_sanitized:
            item.add_marker(pytest.mark.skip(reason="nobody packs a sanitizer"))


@pytest.fixture(scope="session")
def wheel():
    return wheels.make()


@pytest.fixture(scope="session")
def bare(wheel, tmp_path_factory):
    """Installed as `pip install plait` does it."""
    environment = wheels.Environment(tmp_path_factory.mktemp("bare"))
    environment.install(wheel)
    return environment


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model.onnx"
    path.write_bytes(models.light_model("tiny_resnet"))
    return path
