"""The peers: the ONNX interpreters against onnx's own evaluator, and the coordinator's bookkeeping.

What needs torch or jax is skipped where they are missing.
"""

import argparse
import json

import numpy as np
import pytest
from onnx.reference import ReferenceEvaluator

import light
import model_graph
import onnx_operators
import peer_process
import peer_timers
import peers
import sample_inputs

MODELS = [name for name in light.MODELS if name not in ("tiny_dynamic", "demo")]


def torch_or_skip():
    return pytest.importorskip("torch", reason="torch is not installed here")


def jax_or_skip():
    return pytest.importorskip("jax", reason="jax is not installed here")


def error(actual, expected):
    actual, expected = np.asarray(actual, np.float64), np.asarray(expected, np.float64)
    return np.linalg.norm(actual - expected) / np.linalg.norm(expected)


def expected_outputs(model, feeds):
    return ReferenceEvaluator(model).run(None, feeds)


@pytest.mark.parametrize("name", MODELS)
def test_torch_computes_what_onnx_says(name):
    torch = torch_or_skip()
    import onnx_to_torch
    model = light.build(name)
    feeds = sample_inputs.model_inputs(model, 1)
    graph = model_graph.load(model, with_parameters=True)
    inputs = [torch.from_numpy(feeds[name]) for name in graph.inputs]
    with torch.no_grad():
        single = onnx_to_torch.to_module(graph)(*inputs)
        half = onnx_to_torch.to_module(graph, torch.float16)(
            *[x.half() if x.is_floating_point() else x for x in inputs])
    for a, b, expected in zip(single, half, expected_outputs(model, feeds)):
        assert error(a, expected) < 1e-6
        assert error(b, expected) < 5e-3


@pytest.mark.parametrize("name", ["tiny_resnet", "tiny_bert", "tiny_nasnet", "tiny_mobilenet"])
def test_jax_computes_what_onnx_says(name):
    jax = jax_or_skip()
    import onnx_to_jax
    model = light.build(name)
    feeds = sample_inputs.model_inputs(model, 1)
    graph = model_graph.load(model, with_parameters=True)
    for dtype, limit in ((np.float32, 1e-6), (np.float16, 5e-3)):
        function, parameters = onnx_to_jax.to_function(graph, dtype)
        inputs = [onnx_to_jax.to_array(feeds[name], dtype) for name in graph.inputs]
        results = jax.jit(function)(parameters, *inputs)
        for result, expected in zip(results, expected_outputs(model, feeds)):
            assert error(result, expected) < limit


def test_the_torch_module_is_one_trace():
    torch = torch_or_skip()
    import onnx_to_torch
    model = light.build("tiny_bert")
    feeds = sample_inputs.model_inputs(model, 1)
    graph = model_graph.load(model, with_parameters=True)
    module = onnx_to_torch.to_module(graph)
    inputs = [torch.from_numpy(feeds[name]) for name in graph.inputs]
    with torch.no_grad():
        traced = torch.jit.trace(module, inputs)
        for a, b in zip(traced(*inputs), module(*inputs)):
            assert torch.equal(a, b)
        explanation = torch._dynamo.explain(module)(*inputs)
    assert explanation.graph_break_count == 0
    assert list(module.parameters()) == []
    assert len(list(module.buffers())) == len(onnx_operators.constant_uses(graph))


def test_every_operator_of_the_models_is_in_the_table():
    for path in sorted((model_graph.MODELS / "skeletons").glob("*.skeleton")):
        onnx_operators.check_operators(model_graph.load(model_graph.read_model(path)))


def test_an_operator_that_is_missing_is_named():
    model = light.build("tiny_resnet")
    for node in model.graph.node:
        if node.op_type == "Relu":
            node.op_type = "Softsign"
    graph = model_graph.load(model)
    with pytest.raises(NotImplementedError, match="Softsign"):
        onnx_operators.check_operators(graph)


@pytest.mark.parametrize("values, expected", [
    ([1.0, 2.0], 0.0), ([1.0, 2.2], 0.2 / 5**0.5), ([1.0, np.nan], None), ([1.0, np.inf], None),
    ([1.0], None)])
def test_relative_error(tmp_path, values, expected):
    actual, reference = tmp_path / "a.npz", tmp_path / "b.npz"
    np.savez(actual, np.array(values))
    np.savez(reference, np.array([1.0, 2.0]))
    result = peers.relative_error(actual, reference)
    assert np.isnan(result) if expected is None else result == pytest.approx(expected)


def test_a_runner_that_folded_its_inputs_is_found():
    torch_or_skip()
    import peer_runners
    graph, feeds = peer_runners.load_model("tiny_sru", 1)

    class Folded(peer_runners.TorchRunner):
        def make(self):
            results = self.module(*self.inputs)
            self.function = lambda *inputs: results

    expected = peer_runners.reference_outputs(graph, feeds, "cpu")
    good, bad = (peer_runners.checked_outputs(runner(graph, feeds[0], "strict", "cpu"), feeds)
                 for runner in (peer_runners.TorchRunner, Folded))
    assert len(good) == len(bad) == len(expected) == 2
    assert all(error(a, b) < 1e-6 for a, b in zip(good, expected))
    assert error(bad[0], expected[0]) < 1e-6 < 1e-2 < error(bad[1], expected[1])


def test_summary_pools_turns_and_keeps_the_spread():
    turns = [{"timer": "host", "replays": 4, "device_us": [10.0, 12.0], "host_us": [20.0, 40.0],
              "cold_us": []},
             {"timer": "host", "replays": 4, "device_us": [20.0, 24.0], "host_us": [30.0],
              "cold_us": []}]
    result = peers.summary(turns)
    assert result["latency_us_median"] == 16.0 and result["samples"] == 4
    assert result["spread"] == pytest.approx((22.0 - 11.0) / 16.5)
    assert result["host_latency_us_p50"] == 30.0 and result["cold_latency_us_median"] is None


def test_a_turn_fits_its_time():
    full = peer_timers.Counts(100.0, 1.0)
    assert (full.batch, full.batches, full.discarded) == (50, 4, 20)
    short = peer_timers.Counts(50_000.0, 1.0)
    assert short.batch * short.batches < 20 and short.batches >= 1 and short.host >= 3


STUB = """
import json, sys, time
answers = sys.stdout
for line in sys.stdin:
    request = json.loads(line)
    if request["command"] == "hang": time.sleep(60)
    if request["command"] == "crash": sys.exit("out of luck")
    if request["command"] == "refuse": reply = {"failure": "not here"}
    else: reply = {"echo": request}
    answers.write(json.dumps(reply) + "\\n"); answers.flush()
"""


@pytest.fixture
def stub(tmp_path, monkeypatch):
    script = tmp_path / "stub.py"
    script.write_text(STUB)
    monkeypatch.setattr(peer_process, "CHILD", script)
    process = peer_process.PeerProcess("eager", "cpu")
    yield process
    process.kill()


def test_a_peer_that_crashes_hangs_or_refuses(stub):
    assert stub.ask(10, "load", model="m")["echo"] == {"command": "load", "model": "m"}
    with pytest.raises(peer_process.PeerFailure, match="not here"):
        stub.ask(10, "refuse")
    assert stub.running
    with pytest.raises(peer_process.PeerFailure, match="exit code 1: out of luck"):
        stub.ask(10, "crash")
    assert not stub.running
    with pytest.raises(peer_process.PeerFailure, match="no answer within 1 s"):
        stub.ask(1, "hang")
    assert stub.ask(10, "load")["echo"] == {"command": "load"}  # it started anew


def arguments_for(out, **changes):
    values = {"out": out, "device": "cpu", "models": ["tiny_sru"], "peers": ["eager"],
              "precisions": ["strict"], "rounds": 2, "turn_seconds": 0.05,
              "prepare_seconds": 60.0, "max_seconds": 120.0, "seed": 1, "call": "one"}
    return argparse.Namespace(**{**values, **changes})


def run_coordinator(arguments):
    coordinator = peers.Coordinator(arguments)
    try:
        for model in arguments.models:
            coordinator.run_model(model)
    finally:
        coordinator.close()
    return coordinator.result


def test_a_run_on_the_processor_and_its_resumption(tmp_path):
    torch_or_skip()
    out = tmp_path / "peers.json"
    result = run_coordinator(arguments_for(out, peers=["eager", "cuda_graph"]))
    record, graph = (result["entries"][0]["peers"][name] for name in ("eager", "cuda_graph"))
    assert record["error_l2"] < 1e-6 and record["latency_us_median"] > 0
    assert record["timer"] == "host" and len(record["round_latency_us_median"]) == 2
    assert graph == {"failure": "needs a GPU"}
    written = out.read_text()
    assert json.loads(written) == result
    # What is there is not run again, and other precisions are added.
    run_coordinator(arguments_for(out, precisions=["strict"]))
    assert out.read_text() == written
    again = run_coordinator(arguments_for(out, precisions=["strict", "fp16"]))
    assert [entry["precision"] for entry in again["entries"]] == ["strict", "fp16"]
    assert again["entries"][0] == result["entries"][0]


def test_an_entry_keeps_the_call_that_it_is_of(tmp_path):
    out = tmp_path / "peers.json"
    coordinator = peers.Coordinator(arguments_for(out))
    coordinator.record("tiny_sru", "strict", {"eager": {"failure": "none"}})
    coordinator.close()
    assert [entry["call"] for entry in json.loads(out.read_text())["entries"]] == ["one"]


def test_without_time_nothing_is_run(tmp_path):
    out = tmp_path / "peers.json"
    assert run_coordinator(arguments_for(out, max_seconds=0.0))["entries"] == []
    assert not out.exists()
