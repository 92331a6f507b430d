"""Long tests: marked where they are, and run where they are wanted."""

import os

import pytest

IS_LONG = os.environ.get("PLAIT_LONG") == "1"


def pytest_configure(config):
    config.addinivalue_line("markers", "long: takes minutes; runs with PLAIT_LONG=1 only")


def pytest_collection_modifyitems(items):
    for item in items:
        if "long" in item.keywords and not IS_LONG:
            item.add_marker(pytest.mark.skip(reason="long: set PLAIT_LONG=1"))
