"""Fixtures of the runtime's tests: an installed tree, and models with plans."""

import pytest
from installed import Installed, programs, run

import learned
import models


@pytest.fixture(scope="session")
def installed(tmp_path_factory):
    return Installed(tmp_path_factory.mktemp("installed"))


@pytest.fixture(scope="session")
def packages(tmp_path_factory):
    """Debian packages of the build, by name."""
    folder = tmp_path_factory.mktemp("packages")
    # Nobody looks at the compression, which takes most of the time.
    run("cpack", "--config", programs.BUILD / "CPackConfig.cmake", "-B", folder,
        "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=none")
    return {path.name.partition("_")[0]: path for path in folder.glob("*.deb")}


@pytest.fixture(scope="session")
def optimized(tmp_path_factory):
    """Optimizes a model file on this machine, with a small budget."""
    cli = learned.cli(tmp_path_factory.mktemp("cache"))

    def optimize(model, result, *options):
        cli.run("optimize", model, "-o", result, "--budget", "5s", *options).expect(0)

    return optimize


@pytest.fixture(scope="session")
def planned_model(tmp_path_factory, optimized):
    """Optimizes a light model on this machine, once, and returns the path of the result."""
    folder = tmp_path_factory.mktemp("models")
    made = {}

    def make(name):
        if name not in made:
            (folder / f"{name}.onnx").write_bytes(models.light_model(name))
            made[name] = folder / f"{name}.opt.onnx"
            optimized(folder / f"{name}.onnx", made[name])
        return made[name]

    return make
