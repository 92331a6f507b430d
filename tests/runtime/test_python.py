"""The Python package, alone and beside libraries that bring others of the same names."""

import importlib.util
import itertools
import os
import subprocess
import sys

import numpy as np
import pytest
from installed import ROOT, cached, programs

import models

# An interpreter with more libraries: bench/peers has one.
PYTHON = os.environ.get("PLAIT_PEERS_PYTHON", sys.executable)
SANITIZED = pytest.mark.skipif(bool(cached("PLAIT_SANITIZE")), reason="a sanitizer starts first")


def python(installed, *words):
    environment = {**installed.environment(), "PYTHONPATH": str(ROOT / "runtime" / "python")}
    finished = subprocess.run([PYTHON, *map(str, words)], text=True, capture_output=True,
                              env=environment, timeout=programs.RUN_SECONDS_MAX, check=False)
    assert finished.returncode == 0, f"{words}\n{finished.stdout}\n{finished.stderr}"
    return finished.stdout


def libraries():
    if PYTHON == sys.executable:
        found = [name for name in ("onnx", "onnxruntime", "openvino", "torch")
                 if importlib.util.find_spec(name)]
    else:
        found = subprocess.run(
            [PYTHON, "-c", "import importlib.util as u; print(*[n for n in ('onnx', 'onnxruntime', "
                           "'openvino', 'torch') if u.find_spec(n)])"],
            text=True, capture_output=True, check=True).stdout.split()
    return [*found, "plait"]


def orders():
    """All orders of a few libraries. Of many only those in which each follows and precedes plait,
    and each comes first once, unless long tests are wanted."""
    names = libraries()
    if len(names) <= 3 or os.environ.get("PLAIT_LONG") == "1":
        return list(itertools.permutations(names))
    turned = [names[i:] + names[:i] for i in range(len(names))]
    return [*turned, *(list(reversed(order)) for order in turned)]


@SANITIZED
@pytest.mark.parametrize("order", orders(), ids="-".join)
def test_libraries_run_in_one_process_in_any_order(order, installed, tmp_path):
    model = tmp_path / "model.onnx"
    model.write_bytes(models.light_model("tiny_resnet"))
    assert python(installed, ROOT / "tests/runtime/beside_others.py", model, *order) == "equal\n"


SESSION = """
import sys
import numpy as np
import plait

session = plait.InferenceSession(sys.argv[1], require_plan=True)
assert session.uses_embedded_plan and "is used" in session.plan
info, = session.get_inputs()
assert (info.type, len(info.shape)) == ("tensor(float)", 4), info
array = np.load(sys.argv[2])
output = session.get_outputs()[0].name
whole, = session.run([output], {info.name: array})
# A view with gaps, a wrong type, wrong names.
gaps = np.repeat(array, 2, axis=3)[..., ::2]
assert not gaps.flags.c_contiguous
np.testing.assert_array_equal(session.run(None, {info.name: gaps})[0], whole)
wrong = [(None, {info.name: array.astype(np.float64)}), (None, {info.name: array[0]}), (None, {}),
         (None, {info.name: array, "other": array}), (["none"], {info.name: array})]
for names, feed in wrong:
    try:
        session.run(names, feed)
    except ValueError as error:
        assert str(error)
    else:
        raise AssertionError((names, feed))
try:
    plait.InferenceSession(b"no model")
except plait.Error as error:
    assert error.code == 1 and str(error)
else:
    raise AssertionError
np.save(sys.argv[3], whole)
"""


@SANITIZED
def test_a_session_has_onnxruntimes_methods(installed, planned_model, tmp_path):
    model = planned_model("tiny_resnet")
    judge = models.session_of(model.read_bytes())
    array = np.random.default_rng(5).standard_normal(
        judge.get_inputs()[0].shape).astype(np.float32)
    np.save(tmp_path / "input.npy", array)
    python(installed, "-c", SESSION, model, tmp_path / "input.npy", tmp_path / "output.npy")
    expected = judge.run(None, {judge.get_inputs()[0].name: array})[0]
    np.testing.assert_allclose(np.load(tmp_path / "output.npy"), expected, rtol=0,
                               atol=models.REL_ERROR_MAX * np.abs(expected).max())


SHAPES = """
import sys
import plait

try:
    plait.InferenceSession(sys.argv[1])
except plait.Error as error:
    assert "is not known" in str(error), error
else:
    raise AssertionError
import onnx
value = onnx.load(sys.argv[1]).graph.input[0]
dims = [dim.dim_value or 3 for dim in value.type.tensor_type.shape.dim]
session = plait.InferenceSession(sys.argv[1], input_shapes={value.name: dims})
assert session.get_inputs()[0].shape == dims
"""


@SANITIZED
def test_open_dimensions_are_given_by_name(installed, tmp_path):
    model = tmp_path / "model.onnx"
    model.write_bytes(models.light_model("tiny_dynamic"))
    python(installed, "-c", SHAPES, model)
