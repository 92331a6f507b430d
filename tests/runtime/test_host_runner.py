"""Models with nodes that plait lacks: it plans what lies around them, onnxruntime runs them."""

import importlib.util
import json
import sys

import numpy as np
import pytest
import strange_models
from installed import programs
from test_python import PYTHON, SANITIZED, python

import models

pytestmark = [SANITIZED, pytest.mark.skipif(
    PYTHON == sys.executable and not importlib.util.find_spec("onnxruntime"),
    reason="onnxruntime runs the nodes")]

SESSION = """
import json, sys
import numpy as np
import plait

session = plait.InferenceSession(sys.argv[1], **json.loads(sys.argv[4]))
feeds = np.load(sys.argv[2])
outputs = {}
for number in sorted({name.split("/")[0] for name in feeds.files}):
    feed = {name.split("/", 1)[1]: feeds[name] for name in feeds.files
            if name.startswith(number + "/")}
    for name, array in zip([arg.name for arg in session.get_outputs()], session.run(None, feed)):
        outputs[f"{number}/{name}"] = array
np.savez(sys.argv[3], **outputs)
print(json.dumps({"nodes": session.host_nodes, "plan": session.plan,
                  "embedded": session.uses_embedded_plan,
                  "shapes": [arg.shape for arg in session.get_outputs()],
                  "types": [arg.type for arg in session.get_outputs()]}))
"""


def run_in_plait(installed, model, feeds, folder, **options):
    """What a session says of itself, and the outputs of each feed."""
    np.savez(folder / "feeds.npz", **{f"{number}/{name}": array
                                      for number, feed in enumerate(feeds)
                                      for name, array in feed.items()})
    told = python(installed, "-c", SESSION, model, folder / "feeds.npz", folder / "outputs.npz",
                  json.dumps(options))
    return json.loads(told.splitlines()[-1]), np.load(folder / "outputs.npz")


def check_outputs(judge, feeds, outputs):
    for number, feed in enumerate(feeds):
        expected = judge.run(None, feed)
        for arg, array in zip(judge.get_outputs(), expected):
            found = outputs[f"{number}/{arg.name}"]
            assert (found.dtype, found.shape) == (array.dtype, array.shape)
            np.testing.assert_allclose(found, array, rtol=0, atol=1e-4)


def check(installed, model, folder, feeds=None, **options):
    judge = models.session_of(model.read_bytes())
    feeds = feeds or [strange_models.inputs_of(judge, seed) for seed in range(4)]
    told, outputs = run_in_plait(installed, model, feeds, folder, **options)
    check_outputs(judge, feeds, outputs)
    return told


@pytest.mark.parametrize("name", strange_models.MODELS)
def test_onnxruntime_runs_what_plait_lacks(name, installed, tmp_path):
    model = tmp_path / f"{name}.onnx"
    model.write_bytes(strange_models.MODELS[name]())
    told = check(installed, model, tmp_path, threads=2)
    assert told["nodes"] > 0 and "that plait lacks" in told["plan"] and not told["embedded"]


def test_a_detector_tells_the_shapes_that_it_knows(installed, tmp_path):
    model = tmp_path / "detector.onnx"
    model.write_bytes(strange_models.detector())
    told = check(installed, model, tmp_path)
    assert told["shapes"] == [[None, 4], [None, 3], [1, 8, 16, 16]]
    assert told["types"] == ["tensor(float)", "tensor(int64)", "tensor(float)"]
    assert "NonMaxSuppression" in told["plan"] and "around 1 part of the model" in told["plan"]


def test_open_inputs_may_have_any_size_around_them(installed, tmp_path):
    model = tmp_path / "nonzero.onnx"
    model.write_bytes(strange_models.nonzero("batch"))
    cli = programs.Cli(tmp_path / "cache")
    cli.run("optimize", model, "-o", tmp_path / "opt.onnx", "--budget", "5s", "--shape",
            "x=3x16").expect(0)
    random = np.random.default_rng(3)
    feeds = [{"x": random.standard_normal((batch, 16)).astype(np.float32)}
             for batch in (3, 1, 5, 3)]
    feeds.append({"x": np.zeros((3, 16), np.float32)})  # of which nothing is above zero
    told = check(installed, tmp_path / "opt.onnx", tmp_path, feeds)
    assert told["shapes"] == [[2, None], [None]]
    assert told["embedded"]


@pytest.mark.parametrize("name", [*strange_models.MODELS, "custom"])
def test_an_optimized_file_brings_plans_for_what_lies_around(name, installed, tmp_path):
    model = tmp_path / f"{name}.onnx"
    model.write_bytes({**strange_models.MODELS, "custom": strange_models.custom}[name]())
    cli = programs.Cli(tmp_path / "cache")
    finished = cli.run("optimize", model, "-o", tmp_path / "opt.onnx", "--budget", "10s", "--json",
                       "--runtime", "plait").expect(0)
    report = finished.json
    assert report["optimized"]["body"] == "original"
    assert report["optimized"]["kernels"] > 0
    assert report["equivalence"]["verdict"] in ("equivalent", "inconclusive")
    segments = report["model"]["host_segments"]
    assert sum(segment["nodes"] for segment in segments) >= 1
    assert all(segment["reason"] and segment["operators"] for segment in segments)
    plans = cli.run("plans", tmp_path / "opt.onnx", "--json").expect(0).json["plans"]
    assert plans and all(plan["fits"] for plan in plans)
    if name == "custom":
        return
    told = check(installed, tmp_path / "opt.onnx", tmp_path, require_plan=True)
    assert told["embedded"] and "is used" in told["plan"]


ERRORS = """
import sys
import plait

if sys.argv[2] == "without":
    sys.modules["onnxruntime"] = None  # importing it fails
try:
    plait.InferenceSession(sys.argv[1])
except plait.UnsupportedError as error:
    print(error)
"""


def test_without_onnxruntime_the_package_to_install_is_named(installed, tmp_path):
    model = tmp_path / "custom.onnx"
    model.write_bytes(strange_models.custom())
    said = python(installed, "-c", ERRORS, model, "without")
    assert "Frobnicate" in said and "pip install 'plait[onnxruntime]'" in said


def test_a_node_that_nobody_has_is_refused_by_name(installed, tmp_path):
    model = tmp_path / "custom.onnx"
    model.write_bytes(strange_models.custom())
    said = python(installed, "-c", ERRORS, model, "with")
    assert "nodes that plait lacks (Frobnicate)" in said and "com.example" in said


BINDING = """
import sys, threading
import numpy as np
import onnxruntime
import plait

session = plait.InferenceSession(sys.argv[1], threads=1)
judge = onnxruntime.InferenceSession(sys.argv[1])
image = np.random.default_rng(5).standard_normal((1, 3, 16, 16)).astype(np.float32)
expected = judge.run(None, {"image": image})
binding = session.io_binding()
binding.bind_cpu_input("image", image)
for output in session.get_outputs():
    binding.bind_output(output.name)
session.run_with_iobinding(binding)
for found, array in zip(binding.copy_outputs_to_cpu(), expected):
    np.testing.assert_allclose(found, array, rtol=0, atol=1e-4)
for refused in (lambda: session.output_buffer("best"),
                lambda: binding.bind_output("best", shape=[1, 4], buffer_ptr=1)):
    try:
        refused()
    except ValueError as error:
        assert "only a run tells its shape" in str(error)
    else:
        raise AssertionError
only, = session.run(["selected"], {"image": image})
np.testing.assert_array_equal(only, expected[1])

# Several threads, with inputs of their own.
wrong = []
def work(seed):
    image = np.random.default_rng(seed).standard_normal((1, 3, 16, 16)).astype(np.float32)
    for _ in range(20):
        for found, array in zip(session.run(None, {"image": image}),
                                judge.run(None, {"image": image})):
            if found.shape != array.shape or not np.allclose(found, array, atol=1e-4):
                wrong.append(seed)
threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert not wrong
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
plait.InferenceSession(sys.argv[1], host_options=options).run(None, {"image": image})
print("equal")
"""


def test_bindings_and_threads_know_open_outputs(installed, tmp_path):
    model = tmp_path / "detector.onnx"
    model.write_bytes(strange_models.detector())
    assert python(installed, "-c", BINDING, model) == "equal\n"
