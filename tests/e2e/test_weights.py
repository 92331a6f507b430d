"""How weights reach the worker: where they lie in the model's file, and never through a parser."""

import pathlib

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import models
import programs
from rpc import state_of

WIDTH = 32


def test_the_worker_holds_no_parser_of_models():
    symbol = b"_ZN5plait9ReadModel"
    assert symbol in pathlib.Path(programs.program("plaitd")).read_bytes()
    assert symbol not in pathlib.Path(programs.program("plait-worker")).read_bytes()


@pytest.mark.parametrize("name", ["plait", "plaitd", "plait-worker"])
def test_no_program_needs_libonnx(name):
    assert b"libonnx" not in pathlib.Path(programs.program(name)).read_bytes()


def typed(name, data_type, values, scale):
    """A tensor whose elements stand in the field of their type, one after the other."""
    return helper.make_tensor(name, data_type, [WIDTH, WIDTH], (values * scale).tolist())


def raw(name, data_type, values, scale):
    array = (values * scale).astype(helper.tensor_dtype_to_np_dtype(data_type))
    return numpy_helper.from_array(array, name)


def raw_bfloat16(name, values, scale):
    bits = (values * scale).astype(np.float32).view(np.uint32) >> 16
    return helper.make_tensor(name, TensorProto.BFLOAT16, [WIDTH, WIDTH],
                              bits.astype(np.uint16).tobytes(), raw=True)


def model_of_all_kinds():
    """A chain of products with weights in every form that a file has for them."""
    values = np.random.default_rng(7).integers(-8, 9, [WIDTH, WIDTH]).astype(np.float64)
    kinds = [TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16,
             TensorProto.INT64, TensorProto.INT32, TensorProto.INT8]
    weights = []
    for number, kind in enumerate(kinds):
        scale = 0.125 if kind in kinds[:4] else 1
        turned = np.roll(values, number, axis=0)
        weights.append(typed(f"typed_{number}", kind, turned, scale))
        turned = np.roll(values, number, axis=1)
        is_bfloat16 = kind == TensorProto.BFLOAT16
        weights.append(raw_bfloat16(f"raw_{number}", turned, scale) if is_bfloat16
                       else raw(f"raw_{number}", kind, turned, scale))
    nodes, value = [], "input"
    for weight in weights:
        name = weight.name
        nodes += [helper.make_node("Cast", [name], [f"{name}_float"], to=TensorProto.FLOAT),
                  helper.make_node("MatMul", [value, f"{name}_float"], [f"{name}_product"]),
                  helper.make_node("Tanh", [f"{name}_product"], [f"{name}_result"])]
        value = f"{name}_result"
    shape = [4, WIDTH]
    graph = helper.make_graph(
        nodes, "kinds", [helper.make_tensor_value_info("input", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(value, TensorProto.FLOAT, shape)], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return model.SerializeToString(deterministic=True)


def test_weights_of_every_kind_reach_the_worker(new_daemon):
    daemon = new_daemon().start()
    daemon.wait_for_worker()
    original = model_of_all_kinds()
    with daemon.client() as client:
        job = client.wait_for_end(client.submit(client.upload(original), budget_seconds=15).id)
        assert state_of(job) == "SUCCEEDED", job.error.message
        # The plan was run, with these weights, beside the original.
        assert job.result.report.equivalence.inputs_tried > 0
        models.assert_equal_in_onnx_runtime(original, client.download(job.result.optimized_model))


@pytest.mark.parametrize("width", [16, 64])
def test_a_model_with_and_without_large_weights_is_measured(new_daemon, width):
    daemon = new_daemon().start()
    daemon.wait_for_worker()
    with daemon.client() as client:
        model = client.upload(models.small_model(width))
        job = client.wait_for_end(client.submit(model, budget_seconds=10).id)
        assert state_of(job) == "SUCCEEDED", job.error.message
