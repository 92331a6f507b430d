"""One file with plans of a few shapes is right for every shape, one after the other."""

import itertools

import numpy as np
import open_models
import pytest
from test_python import SANITIZED, python

import models

# Many more shapes than stay loaded, in an order in which some come back; no default plan.
EVERY_SHAPE = """
import sys
import numpy as np
import plait

session = plait.InferenceSession(sys.argv[1], require_plan=True)
info, = session.get_inputs()
arrays = np.load(sys.argv[2])
outputs = {}
for name in arrays.files * 2:
    outputs.setdefault(name, []).append(session.run(None, {info.name: arrays[name]})[0])
for name, (first, second) in outputs.items():
    np.testing.assert_array_equal(first, second, err_msg=name)
np.savez(sys.argv[3], **{name: first for name, (first, _) in outputs.items()})
"""

SEQUENCES = [(batch, length, 32)
             for batch, length in itertools.product(range(1, 9), range(16, 33))]
IMAGES = [(batch, 3, height, width)
          for batch, height, width in itertools.product((1, 2, 5), range(7, 27, 3), (8, 13, 24))]


@SANITIZED
@pytest.mark.parametrize(("name", "shape_range", "shapes"), [
    ("tiny_dynamic", "2..8x8x32", [(batch, 8, 32) for batch in range(2, 12)]),
    ("sequences", "2..4x16..32x32", SEQUENCES),
    ("images", "1..2x3x16x16..24", IMAGES),
])
def test_one_file_is_right_for_every_shape(name, shape_range, shapes, installed, optimized,
                                           tmp_path):
    if name == "tiny_dynamic":
        original = models.light_model(name)
    else:
        original = getattr(open_models, name)().SerializeToString(deterministic=True)
    (tmp_path / "model.onnx").write_bytes(original)
    model = tmp_path / "model.opt.onnx"
    optimized(tmp_path / "model.onnx", model, "--shape-range", f"input={shape_range}")
    draw = np.random.default_rng(3)
    arrays = {"x".join(map(str, shapes[i])): draw.standard_normal(shapes[i]).astype(np.float32)
              for i in draw.permutation(len(shapes))}
    np.savez(tmp_path / "inputs.npz", **arrays)
    python(installed, "-c", EVERY_SHAPE, model, tmp_path / "inputs.npz", tmp_path / "outputs.npz")
    judge = models.session_of(original)
    outputs = np.load(tmp_path / "outputs.npz")
    assert len(outputs.files) == len(shapes)
    for shape, array in arrays.items():
        expected = judge.run(None, {"input": array})[0]
        np.testing.assert_allclose(outputs[shape], expected, rtol=0, err_msg=shape,
                                   atol=models.REL_ERROR_MAX * np.abs(expected).max())
