"""The wheel in Debian roots that have Python and nothing else, without a network."""

import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
import wheels

import models

pytestmark = [pytest.mark.long,
              pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("mmdebstrap"),
                                 reason="needs root and mmdebstrap")]

# A suite and its Python.
SUITES = {"bookworm": "3.11", "trixie": "3.13"}
# Of what the wheel brings itself.
STRANGERS = ("libabsl", "libdnnl", "libgomp", "libgrpc", "libprotobuf", "libspdlog")

PROGRAM = """
set -eu
python3 -m venv /venv
/venv/bin/pip install --quiet --no-index --find-links /wheels plait
export XDG_CACHE_HOME=/cache PATH=/venv/bin:$PATH
plait version
python -m plait optimize /model.onnx -o /model.opt.onnx --budget 5s
python -c '
import numpy, plait
session = plait.InferenceSession("/model.opt.onnx")
assert session.uses_embedded_plan, session.plan
image = numpy.ones(session.get_inputs()[0].shape, numpy.float32)
numpy.save("/output.npy", session.run(None, {"input": image})[0])
print(plait.optimize("/model.onnx", "/again.onnx", budget=5).speedup >= 1)
'
"""


@pytest.fixture(params=SUITES)
def root(request, tmp_path, wheel, model):
    """A root with the wheel and numpy's beside it; proc is mounted, as it is everywhere."""
    path = tmp_path / request.param
    wheels.run("mmdebstrap", "--variant=minbase", "--include=python3,python3-venv", request.param,
               path, timeout=1800)
    (path / "wheels").mkdir()
    shutil.copy(wheel, path / "wheels")
    shutil.copy(model, path / "model.onnx")
    wheels.run(sys.executable, "-m", "pip", "download", "--quiet", "--only-binary", ":all:",
               "--python-version", SUITES[request.param], "--dest", path / "wheels", "numpy")
    subprocess.run(["mount", "-t", "proc", "proc", path / "proc"], check=True)
    yield path
    subprocess.run(["umount", path / "proc"], check=True)


def test_it_installs_and_runs_there(root, model):
    listed = wheels.run("chroot", root, "dpkg-query", "-W", "-f", "${Package}\n").splitlines()
    assert not [name for name in listed if name.startswith(STRANGERS)]
    out = wheels.run("unshare", "--net", "chroot", root, "/bin/sh", "-c", PROGRAM,
                     env={"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "HOME": "/root"})
    assert out.startswith("plait ") and out.endswith("True\n")
    judge = models.session_of(model.read_bytes())
    image = np.ones(judge.get_inputs()[0].shape, np.float32)
    expected = judge.run(None, {"input": image})[0]
    np.testing.assert_allclose(np.load(root / "output.npy"), expected, rtol=0,
                               atol=models.REL_ERROR_MAX * np.abs(expected).max())
