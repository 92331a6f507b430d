"""The light models and the skeletons.

Needs numpy, onnx and onnxruntime. Run from anywhere: `python -m pytest tests/bench_models`.
"""

import hashlib
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench" / "models"))

import draws  # noqa: E402 (these are found through the line above)
import light  # noqa: E402
import light_sequence  # noqa: E402
import sample_inputs  # noqa: E402
import skeleton  # noqa: E402

SKELETONS = ROOT / "bench" / "models" / "skeletons"
SKELETON_NAMES = {
    "bert_base", "bert_large", "densenet121", "efficientnet_b0", "gpt2", "inception_v3",
    "mobilenet_v2", "nasnet_large", "nasnet_mobile", "resnet50", "resnext50", "rnntc_sru",
    "squeezenet", "vit_b_16"}


def session_of(model):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    data = model if isinstance(model, bytes) else model.SerializeToString()
    return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])


def digest(*arrays):
    return hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest()[:16]


def run_tool(path, *arguments):
    return subprocess.run([sys.executable, str(ROOT / "bench" / path), *map(str, arguments)],
                          capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.parametrize("name", light.MODELS)
def test_light_model_is_alive(name):
    assert sample_inputs.liveness_faults(session_of(light.build(name)), dynamic_size=2) == []


@pytest.mark.parametrize("name", light.MODELS)
def test_light_model_has_no_constant_parameter(name):
    for tensor in light.build(name).graph.initializer:
        values = numpy_helper.to_array(tensor)
        # Constants of one value and shapes are part of the architecture.
        if not tensor.name.startswith("constant"):
            assert values.min() != values.max(), tensor.name
            assert np.count_nonzero(values) > 0.99 * values.size, tensor.name


@pytest.mark.parametrize("name", light.MODELS)
def test_light_model_is_the_same_every_time(name):
    first, second = (light.build(name).SerializeToString(deterministic=True) for _ in range(2))
    assert first == second
    assert first != light.build(name, seed=1).SerializeToString(deterministic=True)


def test_dynamic_model_runs_at_several_batch_sizes():
    session = session_of(light.build("tiny_dynamic"))
    for batch in (1, 3, 7):
        (output,) = session.run(None, sample_inputs.session_inputs(session, 1, batch))
        assert output.shape == (batch, 10)


def test_draws_are_the_recorded_bits():
    # Recorded once: another machine, numpy or day must give the same bits.
    assert digest(draws.uniform(7, 1000, -1.0, 1.0)) == "c9a46960d14fbf5b"
    assert digest(draws.normal(7, 1000, 0.5, 0.25)) == "88710e6e1a66213e"


def test_draws_have_their_statistics_and_no_seam_between_chunks():
    count = draws.CHUNK_DRAWS + 1000
    values = draws.normal(3, count, 2.0, 0.5)
    assert abs(values.mean() - 2.0) < 0.01 and abs(values.std() - 0.5) < 0.01
    assert np.array_equal(values[:1000], draws.normal(3, 1000, 2.0, 0.5))
    uniform = draws.uniform(3, count, -1.0, 1.0)
    assert uniform.min() >= -1.0 and uniform.max() < 1.0 and np.count_nonzero(uniform) == count


def test_sample_inputs_follow_the_convention():
    tokens = sample_inputs.input_array("input_ids", (1, 500), np.int64, 1)
    assert tokens.min() >= 0 and tokens.max() < 100 and len(np.unique(tokens)) > 50
    assert sample_inputs.input_array("attention_mask", (1, 9), np.int64, 1).tolist() == [[1] * 9]
    image = sample_inputs.input_array("input", (3, 3), np.float32, 1)
    assert not np.array_equal(image, sample_inputs.input_array("input", (3, 3), np.float32, 2))


def test_liveness_check_sees_dead_outputs():
    model = light.build("tiny_resnet")
    for tensor in model.graph.initializer:
        if tensor.name == model.graph.node[-1].input[1]:
            zeros = np.zeros(tuple(tensor.dims), np.float32)
            tensor.CopyFrom(numpy_helper.from_array(zeros, tensor.name))
    assert "moves by only" in sample_inputs.liveness_faults(session_of(model))[0]


@pytest.mark.parametrize("name", ["demo", "tiny_bert", "tiny_densenet", "tiny_dynamic"])
def test_skeleton_restores_the_same_bytes_and_runs(name, tmp_path):
    source, small = tmp_path / f"{name}.onnx", tmp_path / f"{name}.skeleton"
    source.write_bytes(light.build(name).SerializeToString())
    assert skeleton.strip_file(source, small) > 0
    assert small.stat().st_size < source.stat().st_size / 2
    for target in ("a.onnx", "b.onnx"):
        skeleton.restore_file(small, tmp_path / target)
    restored = (tmp_path / "a.onnx").read_bytes()
    assert restored == (tmp_path / "b.onnx").read_bytes()
    assert sample_inputs.liveness_faults(session_of(restored)) == []


def test_skeleton_keeps_the_graph_the_integers_and_the_tables():
    table = np.where(np.tri(64), 0.0, -1e9).astype(np.float32)
    indices = np.arange(1000, dtype=np.int64)
    parameter = np.random.default_rng(0).normal(size=(64, 64)).astype(np.float32)
    variance = np.random.default_rng(0).uniform(0.01, 9.0, 512).astype(np.float32)
    tensors = {"table": table, "indices": indices, "parameter": parameter, "variance": variance}
    graph = helper.make_graph(
        [], "kept", [], [], [numpy_helper.from_array(a, n) for n, a in tensors.items()])
    model = helper.make_model(graph)
    recipes = skeleton.strip(model, "kept")
    assert set(recipes) == {2, 3}
    skeleton.restore(model, recipes)
    after = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    assert np.array_equal(after["table"], table) and np.array_equal(after["indices"], indices)
    assert after["parameter"].shape == (64, 64)
    assert not np.array_equal(after["parameter"], parameter)
    assert after["variance"].min() > 0


def test_skeleton_refuses_other_files(tmp_path):
    other = tmp_path / "other"
    other.write_bytes(b"not a skeleton")
    for verb in ("strip", "restore"):
        result = run_tool("models/skeleton.py", verb, other, tmp_path / "out")
        assert result.returncode == 1 and "not a" in result.stderr, result.stderr
    damaged = tmp_path / "damaged"
    damaged.write_bytes((SKELETONS / "squeezenet.skeleton").read_bytes()[:-100])
    assert "damaged" in run_tool(
        "models/skeleton.py", "restore", damaged, tmp_path / "out").stderr


def test_all_real_architectures_are_committed_and_small():
    files = list(SKELETONS.glob("*.skeleton"))
    assert {path.stem for path in files} == SKELETON_NAMES
    assert sum(path.stat().st_size for path in files) < 4_000_000


@pytest.mark.parametrize("name", sorted(SKELETON_NAMES))
def test_committed_skeleton_is_readable_and_holds_no_stack_trace(name):
    model, recipes = skeleton.read_skeleton(SKELETONS / f"{name}.skeleton")
    assert recipes and model.graph.node
    text = model.SerializeToString()
    assert b".py" not in text and b"site-packages" not in text


# The smallest ones only: the others take seconds and gigabytes, and restore by the same code.
@pytest.mark.parametrize("name, bits", [
    ("squeezenet", "23421b19a8e40ea8"), ("mobilenet_v2", "4a7cc44e6a093e83"),
    ("rnntc_sru", "0bbdc809ec9c2b31")])
def test_committed_skeleton_restores_the_recorded_bits_and_runs(name, bits, tmp_path):
    target = tmp_path / "model.onnx"
    skeleton.restore_file(SKELETONS / f"{name}.skeleton", target)
    model = onnx.load(str(target))
    assert digest(*map(numpy_helper.to_array, model.graph.initializer)) == bits
    assert sample_inputs.liveness_faults(session_of(model)) == []


@pytest.mark.parametrize("name", ["tiny_resnet", "tiny_bert"])
def test_a_model_for_another_batch_computes_each_part_alone(name, tmp_path):
    model = light.write(name, tmp_path)
    done = run_tool("models/batch.py", model, 3, tmp_path / "batch.onnx")
    assert done.returncode == 0, done.stderr
    session = session_of(onnx.load(tmp_path / "batch.onnx"))
    feeds = sample_inputs.session_inputs(session, 1)
    assert all(array.shape[0] == 3 for array in feeds.values())
    assert all(array.shape[0] == 3 for array in session.run(None, feeds))


def test_a_model_that_mixes_the_parts_of_a_batch_is_refused(tmp_path):
    graph = helper.make_graph(
        [helper.make_node("ReduceMean", ["x"], ["mean"], axes=[0], keepdims=1),
         helper.make_node("Sub", ["x", "mean"], ["y"])], "mixes",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 4])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1, 4])])
    opset = helper.make_opsetid("", 17)
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=8), tmp_path / "m.onnx")
    done = run_tool("models/batch.py", tmp_path / "m.onnx", 2, tmp_path / "batch.onnx")
    assert done.returncode == 1 and "other outputs than alone" in done.stderr
    assert not (tmp_path / "batch.onnx").exists()


@pytest.mark.parametrize("tokens, other", [(24, 12), (20, 20)])
def test_a_model_for_another_length_says_the_same_of_a_text(tokens, other, tmp_path):
    model = light_sequence.tiny_bert(1, tokens=tokens)
    onnx.save(model, tmp_path / "m.onnx")
    done = run_tool("models/tokens.py", tmp_path / "m.onnx", other, tmp_path / "other.onnx")
    assert done.returncode == 0, done.stderr
    session = session_of(onnx.load(tmp_path / "other.onnx"))
    feeds = sample_inputs.session_inputs(session, 1)
    assert {array.shape for array in feeds.values()} == {(1, other)}
    assert session.run(None, feeds)[0].shape == (1, other, 64)


def test_a_model_whose_texts_differ_at_another_length_is_refused(tmp_path):
    # Its first output is a mean over all tokens.
    graph = helper.make_graph(
        [helper.make_node("Cast", ["ids"], ["x"], to=onnx.TensorProto.FLOAT),
         helper.make_node("ReduceMean", ["x"], ["mean"], axes=[1], keepdims=1),
         helper.make_node("Sub", ["x", "mean"], ["y"])], "mixes",
        [helper.make_tensor_value_info("ids", onnx.TensorProto.INT64, [1, 4])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1, 4])])
    opset = helper.make_opsetid("", 17)
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=8), tmp_path / "m.onnx")
    done = run_tool("models/tokens.py", tmp_path / "m.onnx", 6, tmp_path / "other.onnx")
    assert done.returncode == 1 and "6 tokens have other outputs than 4" in done.stderr
    assert not (tmp_path / "other.onnx").exists()
    image = light.write("tiny_resnet", tmp_path)
    done = run_tool("models/tokens.py", image, 6, tmp_path / "other.onnx")
    assert done.returncode == 1 and "its inputs are not [batch, length]" in done.stderr


# Does what survey.py asks of plait: FAULT is what is wrong with it.
FAKE_PLAIT = """#!{python}
import json, pathlib, sys
import numpy as np, onnxruntime
arguments, fault = sys.argv[1:], "{fault}"
if arguments[0] == "optimize":
    pathlib.Path(arguments[3]).write_bytes(pathlib.Path(arguments[1]).read_bytes())
    if fault == "refuses":
        sys.exit("plait: optimize: no such thing")
    measured = {{"latency_us_median": 2.0, "fallback_nodes": 3}}
    print(json.dumps({{"model": {{"nodes": 7, "opaque_nodes": ["a"] if fault == "opaque" else []}},
                       "baseline": measured, "optimized": measured, "speedup": 1.0}}))
else:
    session = onnxruntime.InferenceSession(arguments[1], providers=["CPUExecutionProvider"])
    inputs, outputs = pathlib.Path(arguments[3]), pathlib.Path(arguments[5])
    outputs.mkdir()
    feeds = {{i.name: np.load(inputs / (i.name + ".npy")) for i in session.get_inputs()}}
    for info, array in zip(session.get_outputs(), session.run(None, feeds)):
        np.save(outputs / (info.name + ".npy"), array + (fault == "wrong"))
    print("{{}}")
"""


@pytest.mark.parametrize("fault, says", [
    ("", "| tiny_bert | 7 | 0 | 3 | "), ("opaque", "| tiny_bert | 7 | 1 | 3 | nan |"),
    ("wrong", "| tiny_bert | 7 | 0 | 3 | "), ("refuses", "| tiny_bert | plait: optimize: no such")])
def test_survey_says_what_plait_does_not_do_right(fault, says, tmp_path):
    model = light.write("tiny_bert", tmp_path)
    plait = tmp_path / "plait"
    plait.write_text(FAKE_PLAIT.format(python=sys.executable, fault=fault))
    plait.chmod(0o755)
    done = run_tool("models/survey.py", "--plait", plait, model)
    assert says in done.stdout, done.stderr
    assert done.returncode == (1 if fault else 0)


def with_plans(model, path, *sizes):
    """The file with plans inside whose texts take so many bytes."""
    proto = onnx.load(model)
    for number, size in enumerate(sizes):
        for key in ("version", "plan", "graph"):
            entry = proto.metadata_props.add()
            entry.key = f"plait.{key}.{number}" if number else f"plait.{key}"
            entry.value = "t" * size if key == "plan" else ""
    onnx.save(proto, path)


@pytest.mark.parametrize("sizes, code", [
    ((1000, 2000), 0), ((1000, 300 << 10), 1), ((300 << 10,), 1), ((), 1)])
def test_growth_is_told_and_judged_by_plan(sizes, code, tmp_path):
    model = light.write("tiny_sru", tmp_path)
    (tmp_path / "optimized").mkdir()
    if sizes:
        with_plans(model, tmp_path / "optimized" / f"{model.stem}.opt.onnx", *sizes)
    done = run_tool("models/plan_growth.py", tmp_path, tmp_path / "optimized")
    assert done.returncode == code, done.stderr
    if sizes:
        largest = f"{max(sizes) / 1024:,.1f} | 256.0 |"
        assert f"| tiny_sru | 30 | {len(sizes)} | " in done.stdout and largest in done.stdout
