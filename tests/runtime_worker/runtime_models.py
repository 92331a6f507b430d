"""Models for the worker of runtimes, and the tasks that name them."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

WIDTH = 32
FLOAT = TensorProto.FLOAT


def model(nodes, weights=(), shape=(4, WIDTH)):
    graph = helper.make_graph(
        nodes, "small", [helper.make_tensor_value_info("input", FLOAT, shape)],
        [helper.make_tensor_value_info("output", FLOAT, None)], list(weights))
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    made.ir_version = 8
    return made.SerializeToString()


def weight(scale=1.0):
    values = np.random.default_rng(1).standard_normal((WIDTH, WIDTH)).astype(np.float32) * scale
    return numpy_helper.from_array(values, "weight")


def product(scale=1.0, shape=(4, WIDTH)):
    """MatMul and Relu; with another scale another function."""
    return model([helper.make_node("MatMul", ["input", "weight"], ["product"]),
                  helper.make_node("Relu", ["product"], ["output"])], [weight(scale)], shape)


def repeated_relu():
    """The same function as product, by other nodes."""
    return model([helper.make_node("MatMul", ["input", "weight"], ["product"]),
                  helper.make_node("Relu", ["product"], ["once"]),
                  helper.make_node("Relu", ["once"], ["output"])], [weight()])


def bomb(gigabytes):
    """Makes a tensor of so many gigabytes from a few bytes; the input decides nothing of it, but
    it is not known before the run."""
    elements = int(gigabytes * (1 << 28))
    shape = numpy_helper.from_array(np.array([elements], np.int64), "shape")
    zero = numpy_helper.from_array(np.array(0, np.int64), "zero")
    return model([
        helper.make_node("ReduceMax", ["input"], ["largest"], keepdims=0),
        helper.make_node("Cast", ["largest"], ["number"], to=TensorProto.INT64),
        helper.make_node("Mul", ["number", "zero"], ["nothing"]),
        helper.make_node("Add", ["shape", "nothing"], ["size"]),
        helper.make_node("ConstantOfShape", ["size"], ["large"]),
        helper.make_node("ReduceSum", ["large"], ["sum"], keepdims=0),
        helper.make_node("Add", ["input", "sum"], ["output"])], [shape, zero])


def external(location):
    """A model whose weight lies in another file."""
    read = onnx.load_from_string(product())
    tensor = read.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value=location)
    return read.SerializeToString()


def task(server, models, seconds_max=2.0, rounds=5, loads=2, sets=2):
    """A MeasureModelsTask over these models, on inputs of shape [4, WIDTH]."""
    from plait_runtime_worker import protocol

    request = protocol.SynchronizeResponse().task
    request.deadline_seconds = 60
    asked = request.measure_models
    for data in models:
        asked.models.add(**server.store(data))
    for seed in range(sets):
        values = np.random.default_rng(seed).standard_normal((4, WIDTH)).astype(np.float32)
        asked.input_sets.add().values.add(name="input", blob=server.store(values.tobytes()))
    asked.inputs.add(name="input", data_type=FLOAT, dims=[4, WIDTH])
    asked.threads, asked.precision = 2, "strict"
    asked.loads, asked.rounds, asked.rounds_min = loads, rounds, 4
    asked.seconds_max = seconds_max
    return request
