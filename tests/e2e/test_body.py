"""What the optimized file holds for other runtimes, and what plait's own makes of it."""

import itertools

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import models
import sample_inputs


@pytest.fixture
def dynamic(model_file):
    return model_file("tiny_dynamic")


def shape_of(model):
    """--shape, with 2 for each symbolic dimension of the only input."""
    (value,) = onnx.load(model).graph.input
    dims = [dim.dim_value or 2 for dim in value.type.tensor_type.shape.dim]
    return "--shape", f"{value.name}={'x'.join(map(str, dims))}"


def optimize(cli, model, output, *options):
    return cli.run("optimize", model, "-o", output, "--budget", "5s", "--json", *shape_of(model),
                   *options)


def test_the_body_is_the_originals(cli, folder, dynamic):
    output = folder / "out.onnx"
    report = optimize(cli, dynamic, output).expect(0).json
    assert report["optimized"]["body"] == "original"
    original, optimized = dynamic.read_bytes(), output.read_bytes()
    # Symbolic dimensions too.
    assert optimized.startswith(original)
    assert len(optimized) - len(original) < 256 << 10
    onnx.checker.check_model(onnx.load(output), full_check=True)


def test_the_plan_runs_at_its_own_shape_and_is_bound_to_another_that_is_given(cli, folder, dynamic):
    output = folder / "out.onnx"
    optimize(cli, dynamic, output).expect(0)
    session = models.session_of(dynamic.read_bytes())
    feeds = sample_inputs.session_inputs(session, 3, 2)
    (folder / "in").mkdir()
    for name, values in feeds.items():
        np.save(folder / "in" / f"{name}.npy", values)
    finished = cli.run("run", output, "--inputs", folder / "in", "--outputs", folder / "result")
    assert finished.expect(0).err == ""
    for value, expected in zip(session.get_outputs(), session.run(None, feeds)):
        got = np.load(folder / "result" / f"{value.name}.npy")
        assert np.abs(got - expected).max() <= models.REL_ERROR_MAX * np.abs(expected).max()
    name, shape = shape_of(dynamic)[1].split("=")
    other = cli.run("run", output, "--shape", f"{name}=3{shape[1:]}", "--seed", "1", "--outputs",
                    folder / "other").expect(0)
    assert "the plan in the model for" in other.err and "bound to these shapes" in other.err


def test_a_file_that_is_optimized_again_there_has_one_plan(cli, folder, dynamic):
    once, twice = folder / "once.onnx", folder / "twice.onnx"
    optimize(cli, dynamic, once).expect(0)
    optimize(cli, once, twice).expect(0)
    assert twice.read_bytes().startswith(dynamic.read_bytes())
    keys = [entry.key for entry in onnx.load(twice).metadata_props]
    assert sorted(keys) == sorted(set(keys)) and "plait.plan" in keys


def test_outputs_that_are_one_tensor_keep_their_names(cli, folder):
    names = ["whole", "copy", "second_copy"]
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["whole"]),
         helper.make_node("Identity", ["whole"], ["copy"]),
         helper.make_node("Identity", ["whole"], ["second_copy"])], "copies",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 8])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4, 8]) for name in names])
    model, output = folder / "copies.onnx", folder / "out.onnx"
    onnx.save(helper.make_model(graph, ir_version=8,
                                opset_imports=[helper.make_opsetid("", 17)]), model)
    optimize(cli, model, output, "--body", "searched").expect(0)
    ran = cli.run("run", output, "--seed", "1", "--json", "--outputs", folder / "result").expect(0)
    assert [value["name"] for value in ran.json["outputs"]] == names
    text = cli.run("run", output, "--seed", "1").expect(0).out
    assert [line.split(":")[0] for line in text.splitlines()] == names
    written = [np.load(folder / "result" / f"{name}.npy") for name in names]
    assert np.array_equal(written[0], written[1]) and np.array_equal(written[0], written[2])


def test_another_body_is_the_plans_graph(cli, folder, dynamic):
    output = folder / "out.onnx"
    report = optimize(cli, dynamic, output, "--body", "searched").expect(0).json
    assert report["optimized"]["body"] == "searched"
    assert any("(--body original keeps it open)" in warning for warning in report["warnings"])
    assert not output.read_bytes().startswith(dynamic.read_bytes())
    models.assert_equal_in_onnx_runtime(dynamic.read_bytes(), output.read_bytes(), dynamic_size=2)


def test_a_model_with_strange_nodes_keeps_its_body(cli, folder, model_file):
    model = model_file(models.small_model(operator="Unknown", domain="custom"))
    output = folder / "out.onnx"
    report = cli.run("optimize", model, "-o", output, "--budget", "5s", "--json").expect(0).json
    assert report["optimized"]["body"] == "original"
    # With what reads it, whose type nobody knows.
    (part,) = report["model"]["host_segments"]
    assert part["operators"] == ["custom.Unknown", "MatMul"]
    assert output.read_bytes().startswith(model.read_bytes())


def test_what_no_plan_can_carry_is_in_the_body(cli, folder, model_file):
    raised = cli.run("optimize", model_file("tiny_resnet", "named"), "-o", folder / "raised.onnx",
                     "--budget", "5s", "--opset", "19", "--json").expect(0).json
    assert raised["optimized"]["body"] == "portable"


# ONNX Runtime has operators on bytes for some mixes of their types.
def test_a_portable_body_has_operators_on_bytes_that_other_runtimes_have(cli, folder, model_file):
    mixes = list(itertools.product(("int8", "uint8"), repeat=3))
    model = model_file(models.quantized_model(mixes))
    output = folder / "out.onnx"
    cli.run("optimize", model, "-o", output, "--budget", "5s", "--body", "portable").expect(0)
    operators = [node.op_type for node in onnx.load(output).graph.node]
    assert operators.count("QLinearConv") == 6 and operators.count("QLinearMatMul") == 3
    sessions = [models.session_of(path.read_bytes(), optimized=False) for path in (model, output)]
    feeds = sample_inputs.session_inputs(sessions[0], 3, 1)
    for value, a, b in zip(sessions[0].get_outputs(), *(s.run(None, feeds) for s in sessions)):
        assert len(np.unique(a)) > 4, value.name
        assert np.abs(a - b).max() <= 0.021, value.name


def test_a_body_that_there_is_not_is_refused(cli, folder, dynamic):
    assert "options.body: must be one of auto, original, portable, searched" in optimize(
        cli, dynamic, folder / "out.onnx", "--body", "none").expect(2).last_error_line
    assert "options.opset" in optimize(cli, dynamic, folder / "out.onnx", "--body", "original",
                                       "--opset", "20").expect(2).last_error_line
