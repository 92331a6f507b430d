"""A job compares outputs on the user's own inputs, too: `plait optimize --inputs DIR`."""

import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import models
from rpc import job_reason, state_of

ROWS, WIDTH = 4, 16


def model_of(nodes, inputs, weights):
    graph = helper.make_graph(
        nodes, "given", [helper.make_tensor_value_info(*value) for value in inputs],
        [helper.make_tensor_value_info("output", TensorProto.FLOAT, [ROWS, WIDTH])],
        [numpy_helper.from_array(value, name) for name, value in weights.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    return model.SerializeToString(deterministic=True)


def far_model():
    """Its output is zero for all inputs below 100, which random ones never reach."""
    weight = np.random.default_rng(7).standard_normal((WIDTH, WIDTH)).astype(np.float32)
    nodes = [helper.make_node("Sub", ["input", "far"], ["beyond"]),
             helper.make_node("Relu", ["beyond"], ["positive"]),
             helper.make_node("MatMul", ["positive", "weight"], ["output"])]
    return model_of(nodes, [("input", TensorProto.FLOAT, [ROWS, WIDTH])],
                    {"far": np.float32(100), "weight": weight})


def table_model():
    """A row of a table for each index, where it is not masked."""
    table = np.random.default_rng(7).standard_normal((10, WIDTH)).astype(np.float32)
    nodes = [helper.make_node("Gather", ["table", "index"], ["row"]),
             helper.make_node("Where", ["mask", "row", "zero"], ["output"])]
    return model_of(nodes, [("index", TensorProto.INT64, [ROWS]),
                            ("mask", TensorProto.BOOL, [ROWS, WIDTH])],
                    {"table": table, "zero": np.float32(0)})


def far_values(seed=1):
    values = np.random.default_rng(seed).uniform(0, 1000, (ROWS, WIDTH))
    return values.astype(np.float32)


def write_inputs(path, **values):
    path.mkdir()
    for name, value in values.items():
        np.save(path / f"{name}.npy", value)
    return path


def input_set(client, values):
    """A set of a job's options: name -> bytes, uploaded, or a digest as it is."""
    parts = []
    for name, value in values.items():
        digest = client.upload(value) if isinstance(value, bytes) else value
        parts.append(client.message("InputValue", name=name, blob=client.message(
            "Digest", sha256_hex=digest.sha256_hex, size_bytes=digest.size_bytes)))
    return client.message("InputSet", values=parts)


def table_values(index=(0, 1, 2, 9), mask=1):
    return {"index": np.array(index, np.int64).tobytes(),
            "mask": np.full((ROWS, WIDTH), mask, np.uint8).tobytes()}


def optimize(cli, model, output, *options):
    return cli.run("optimize", model, "-o", output, "--budget", "10s", "--json", *options)


def test_inputs_given_show_what_random_ones_never_reach(cli, folder, model_file):
    model = model_file(far_model())
    dead = optimize(cli, model, folder / "a.onnx").expect(0).json
    assert dead["equivalence"]["verdict"] == "inconclusive"
    assert dead["equivalence"]["inputs_tried"] == 4
    inputs = [write_inputs(folder / f"inputs_{i}", input=far_values(i)) for i in range(2)]
    alive = optimize(cli, model, folder / "b.onnx", "--inputs", inputs[0], "--inputs",
                     inputs[1]).expect(0).json
    assert alive["cached"] is False
    assert alive["equivalence"]["verdict"] == "equivalent"
    assert alive["equivalence"]["inputs_tried"] == 6
    assert alive["warnings"] == []
    feeds = {"input": far_values(1)}
    original, optimized = (models.session_of(data).run(None, feeds)[0] for data in (
        model.read_bytes(), (folder / "b.onnx").read_bytes()))
    assert np.abs(original - optimized).max() <= 1e-4 * np.abs(original).max()


def test_inputs_are_read_at_the_shapes_that_are_measured(cli, folder, model_file):
    model = model_file(models.small_model(WIDTH, rows="N"))
    one = write_inputs(folder / "one", input=far_values()[:1])
    report = optimize(cli, model, folder / "a.onnx", "--inputs", one).expect(0).json
    assert report["equivalence"]["inputs_tried"] >= 2
    three = write_inputs(folder / "three", input=far_values()[:3])
    optimize(cli, model, folder / "b.onnx", "--shape-range", f"input=3..4x{WIDTH}", "--inputs",
             three).expect(0)


def test_equal_inputs_share_a_result_and_others_do_not(cli, folder, model_file):
    model = model_file(far_model())
    same = [write_inputs(folder / f"same_{i}", input=far_values()) for i in range(2)]
    other = write_inputs(folder / "other", input=far_values(2))
    cached = [optimize(cli, model, folder / "out.onnx", "--inputs", inputs).expect(0).json["cached"]
              for inputs in (*same, other)]
    assert cached == [False, True, False]


def test_inputs_may_be_tensor_protos_and_are_checked_before_anything_is_sent(
        cli, folder, model_file):
    model = model_file(far_model())
    path = folder / "inputs"
    path.mkdir()
    (path / "input_0.pb").write_bytes(
        numpy_helper.from_array(far_values(), "any").SerializeToString())
    # With --validate-only the server looks at them, and nothing is searched.
    optimize(cli, model, folder / "a.onnx", "--validate-only", "--inputs", path).expect(0)
    wrong = write_inputs(folder / "wrong", input=far_values()[:2])
    finished = optimize(cli, model, folder / "a.onnx", "--inputs", path, "--inputs", wrong)
    finished.expect(2)
    assert json.loads(finished.out)["error"]["reason"] == "INVALID_REQUEST"
    assert f"{wrong}: input input: is float32[2,16], must be float32[4,16]" in finished.err
    missing = optimize(cli, model, folder / "a.onnx", "--inputs", folder / "nothing").expect(2)
    assert "neither" in missing.last_error_line
    too_many = [word for _ in range(9) for word in ("--inputs", path)]
    assert "at most 8 sets" in optimize(
        cli, model, folder / "a.onnx", *too_many).expect(2).last_error_line


@pytest.mark.parametrize("values, message", [
    ({"index": bytes(8 * ROWS)}, "input mask: is bool[4,16], has no value"),
    ({**table_values(), "other": b"x"}, "input other: the model has no such input"),
    ({**table_values(), "index": bytes(4 * ROWS)},
     "input index: is int64[4] of 32 bytes, its value has 16"),
    (table_values(index=(0, 1, 2, 10)), "the model cannot run on it"),
    (table_values(index=(0, 1, 2, -2 ** 62)), "the model cannot run on it"),
    (table_values(mask=7), "input mask: its value is no bool[4,16]"),
])
def test_inputs_that_the_model_cannot_take_end_the_job(shared_daemon, client, values, message):
    model = client.upload(table_model())
    good = input_set(client, table_values())
    bad = input_set(client, values)
    job = client.wait_for_end(client.submit(model, input_sets=[good, bad]).id)
    assert (state_of(job), job_reason(job)) == ("FAILED", "INVALID_REQUEST"), job.error.message
    assert job.error.message.startswith("input_sets[1]: ") and message in job.error.message
    assert job.attempts == 1 and job.faults == 0
    assert shared_daemon.is_alive()


def test_a_value_that_is_another_tenants_is_not_there(shared_daemon, client):
    model = client.upload(far_model())
    with shared_daemon.client("bob") as other:
        secret = other.upload(far_values(5).tobytes())
    with pytest.raises(Exception) as refused:
        client.submit(model, input_sets=[input_set(client, {"input": secret})])
    assert client.reason(refused.value) == "BLOB_MISSING"
    assert "value of input input" in refused.value.details()


def test_a_job_with_inputs_is_replayed_to_the_same_bytes(shared_daemon, client, cli, folder):
    model = client.upload(far_model())
    values = input_set(client, {"input": far_values().tobytes()})
    job = client.wait_for_end(client.submit(model, budget_seconds=10, input_sets=[values]).id)
    assert state_of(job) == "SUCCEEDED", job.error.message
    assert job.result.report.equivalence.inputs_tried == 5
    report = cli.run("replay", job.id, "-o", folder / "again.onnx", "--json", "--server",
                     shared_daemon.address).expect(0).json
    assert report["equivalence"]["inputs_tried"] == 5
    assert (folder / "again.onnx").read_bytes() == client.download(job.result.optimized_model)


def test_a_model_that_is_not_understood_takes_inputs_as_far_as_they_reach(cli, folder, model_file):
    model = model_file(models.small_model(operator="Unknown", domain="custom"))
    (value,) = onnx.load(model).graph.input
    inputs = write_inputs(folder / "inputs", **{value.name: far_values()})
    report = optimize(cli, model, folder / "out.onnx", "--accept-inconclusive", "--inputs",
                      inputs).expect(0).json
    assert report["equivalence"]["verdict"] == "equivalent"
    assert any("not of the whole" in warning for warning in report["warnings"])
    assert any("inputs given reach only" in warning for warning in report["warnings"])
