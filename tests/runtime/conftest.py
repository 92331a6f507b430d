"""Fixtures of the runtime's tests: an installed tree, and models with plans."""

import pytest
from installed import Installed, programs

import models


@pytest.fixture(scope="session")
def installed(tmp_path_factory):
    return Installed(tmp_path_factory.mktemp("installed"))


@pytest.fixture(scope="session")
def planned_model(tmp_path_factory):
    """Optimizes a light model on this machine, once, and returns the path of the result."""
    folder = tmp_path_factory.mktemp("models")
    cli = programs.Cli(folder / "cache")
    made = {}

    def make(name):
        if name not in made:
            (folder / f"{name}.onnx").write_bytes(models.light_model(name))
            made[name] = folder / f"{name}.opt.onnx"
            cli.run("optimize", folder / f"{name}.onnx", "-o", made[name], "--budget",
                    "5s").expect(0)
        return made[name]

    return make
