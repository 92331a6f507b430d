"""What binding reads a model as, in baseline and result alike, while its file keeps its words."""

import numpy as np
import onnx
import pytest
from onnx import parser

import models

EINSUM = """
g (float[1,32,16] queries, float[1,16,12,12] image) => (float[1,32,12,12] y) {
  y = Einsum <equation = "bqc,bchw->bqhw"> (queries, image)
}"""

HALVES = """
g (float16[N,3,16,16] x) => (float16[N,8] y) {
  a = Conv <kernel_shape = [3,3], pads = [1,1,1,1]> (x, w)
  b = Relu(a)
  c = GlobalAveragePool(b)
  d = Flatten(c)
  y = Softmax(d)
}"""


def einsum_model():
    return model_of(EINSUM)


def half_model():
    weights = np.random.default_rng(3).standard_normal((8, 3, 3, 3)).astype(np.float16)
    return model_of(HALVES, onnx.numpy_helper.from_array(weights, "w"))


def model_of(text, *initializers):
    model = parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]>{text}')
    model.graph.initializer.extend(initializers)
    return model.SerializeToString()


@pytest.mark.parametrize("make", [einsum_model, half_model])
def test_the_baseline_runs_by_kernels(make, cli, folder, model_file):
    model, output = model_file(make()), folder / "out.onnx"
    report = cli.run("optimize", model, "-o", output, "--budget", "5s", "--body", "original",
                     "--threads", "1", "--json").expect(0).json
    for side in ("baseline", "optimized"):
        assert report[side]["fallback_nodes"] == 0
    # Of reference code a search would make hundreds of times.
    assert report["speedup"] < 20
    assert report["equivalence"]["verdict"] == "equivalent"
    assert output.read_bytes().startswith(model.read_bytes())
    cli.run("verify", model, output, "--threads", "1").expect(0)


def test_floats_of_16_bits_come_out_as_in_onnxruntime(cli, folder, model_file):
    """At a batch that the plan was not made for, to which it is bound."""
    model, output = model_file(half_model()), folder / "out.onnx"
    cli.run("optimize", model, "-o", output, "--budget", "5s", "--shape", "x=2x3x16x16",
            "--threads", "1").expect(0)
    for batch in (2, 5):
        x = np.random.default_rng(batch).standard_normal((batch, 3, 16, 16)).astype(np.float16)
        (folder / f"in_{batch}").mkdir()
        np.save(folder / f"in_{batch}" / "x.npy", x)
        cli.run("run", output, "--inputs", folder / f"in_{batch}", "--outputs",
                folder / f"out_{batch}", "--require-plan", "--threads", "1").expect(0)
        found = np.load(folder / f"out_{batch}" / "y.npy")
        expected = models.session_of(model.read_bytes()).run(None, {"x": x})[0]
        assert found.dtype == expected.dtype == np.float16
        np.testing.assert_allclose(found, expected, rtol=0, atol=2e-3)
