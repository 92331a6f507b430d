"""Models for end-to-end tests, and ONNX Runtime as the judge of their results."""

import base64
import sys
import zlib

import numpy as np
import onnx
import onnx.parser
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import programs

sys.path.insert(0, str(programs.ROOT / "bench" / "models"))
sys.path.append(str(programs.ROOT / "tests" / "runtime"))

import light  # noqa: E402 (found through the line above)
import sample_inputs  # noqa: E402

REL_ERROR_MAX = 1e-4


def light_model(name):
    """The bytes of a light model."""
    return light.build(name).SerializeToString(deterministic=True)


def small_model(width=16, operator="Relu", domain="", rows=4):
    """MatMul, an operator, MatMul: a job of it takes as little time as a job can. `rows` may be the
    name of a dimension that the model leaves open."""
    random = np.random.default_rng(7)
    weights = [numpy_helper.from_array(random.standard_normal((width, width)).astype(np.float32),
                                       f"weight_{i}") for i in range(2)]
    nodes = [helper.make_node("MatMul", ["input", "weight_0"], ["first"], name="first"),
             helper.make_node(operator, ["first"], ["second"], name="second", domain=domain),
             helper.make_node("MatMul", ["second", "weight_1"], ["output"], name="third")]
    shape = [rows, width]
    graph = helper.make_graph(
        nodes, "small", [helper.make_tensor_value_info("input", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("output", TensorProto.FLOAT, shape)], weights)
    domains = [helper.make_opsetid("", 17)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    model = helper.make_model(graph, opset_imports=domains)
    model.ir_version = 8
    return model.SerializeToString(deterministic=True)


def slow_model(layers=10, width=1536, rows=1536, activations=("Tanh", "Sigmoid", "Tanh", "Relu")):
    """Ten products take a quarter of a second together: to verify a plan, a quarter of a minute.
    What there is to gain is in the activations, which can be part of a product's kernel: little,
    and most of the time where there are many rows and a small width."""
    random = np.random.default_rng(7)
    weight = numpy_helper.from_array(
        (random.standard_normal((width, width)) / width ** 0.5).astype(np.float32), "weight")
    nodes, value = [], "input"
    for layer in range(layers):
        nodes.append(helper.make_node("MatMul", [value, "weight"], [f"product_{layer}"]))
        value = f"product_{layer}"
        for i, activation in enumerate(activations):
            nodes.append(helper.make_node(activation, [value], [f"result_{layer}_{i}"]))
            value = f"result_{layer}_{i}"
    graph = helper.make_graph(
        nodes, "slow",
        [helper.make_tensor_value_info("input", TensorProto.FLOAT, [rows, width])],
        [helper.make_tensor_value_info(value, TensorProto.FLOAT, [rows, width])], [weight])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    return model.SerializeToString(deterministic=True)


def many_biases(layers, width=64):
    """Additions of constants and a Tanh each, which nothing makes less of: for few bytes of weights
    the text of its graph is long, and hardly shorter when it is packed."""
    random = np.random.default_rng(7)
    nodes, weights, value = [], [], "input"
    for layer in range(layers):
        weights.append(numpy_helper.from_array(
            random.standard_normal(width).astype(np.float32), f"bias_{layer}"))
        nodes += [helper.make_node("Add", [value, f"bias_{layer}"], [f"sum_{layer}"]),
                  helper.make_node("Tanh", [f"sum_{layer}"], [f"value_{layer}"])]
        value = f"value_{layer}"
    graph = helper.make_graph(
        nodes, "biases", [helper.make_tensor_value_info("input", TensorProto.FLOAT, [4, width])],
        [helper.make_tensor_value_info(value, TensorProto.FLOAT, [4, width])], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    return model.SerializeToString(deterministic=True)


def quantized_model(mixes):
    """For each mix of types, of x, w and y, a Conv, a Gemm and a MatMul as exporters write those of
    bytes: between DequantizeLinears and a QuantizeLinear."""
    random = np.random.default_rng(7)
    constants = {"scale": np.float32(0.02), "int8_zero": np.int8(-9), "uint8_zero": np.uint8(120)}
    text = []
    for operator, shape in (("Conv", (5, 4, 3, 3)), ("Gemm", (10, 5)), ("MatMul", (10, 5))):
        for mix in mixes:
            name = "_".join((operator, *mix))
            x, w, y = (f"scale, {dtype}_zero" for dtype in mix)
            # Of 7 bits, so that two products fit in 16: session_of says why.
            constants[f"{name}_w"] = random.integers(0, 64, shape).astype(mix[1])
            text.append(f"""
                {name}_xq = QuantizeLinear({operator}_x, {x})
                {name}_xd = DequantizeLinear({name}_xq, {x})
                {name}_wd = DequantizeLinear({name}_w, {w})
                {name}_sum = {operator}({name}_xd, {name}_wd)
                {name}_yq = QuantizeLinear({name}_sum, {y})
                {name} = DequantizeLinear({name}_yq, {y})""")
    inputs = "float[1,4,6,6] Conv_x, float[3,10] Gemm_x, float[3,10] MatMul_x"
    outputs = ", ".join(f"float {name[:-2]}" for name in constants if name.endswith("_w"))
    model = onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["": 17]> quantized ({inputs}) => ({outputs})'
        f' {{ {"".join(text)} }}')
    model.graph.initializer.extend(
        numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items())
    for output in model.graph.output:
        output.type.tensor_type.ClearField("shape")
    return model.SerializeToString(deterministic=True)


def scaled_weight(data, factor):
    """The model with its largest parameter multiplied."""
    model = onnx.load_from_string(data)
    largest = max(model.graph.initializer, key=lambda tensor: len(tensor.raw_data))
    values = numpy_helper.to_array(largest) * np.float32(factor)
    largest.CopyFrom(numpy_helper.from_array(values, largest.name))
    return model.SerializeToString(deterministic=True)


def unpacked_text(value):
    """A text of plait's in a model's metadata."""
    assert value.startswith("zlib:")
    return zlib.decompress(base64.b64decode(value.removeprefix("zlib:"))).decode()


def packed_text(text):
    """The inverse."""
    return "zlib:" + base64.b64encode(zlib.compress(text.encode())).decode()


def session_of(data, optimized=True):
    """Not `optimized`, each node runs as the model says: processors without VNNI add two products
    of bytes in 16 bits, where they saturate, in what onnxruntime makes of quantized layers."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    if not optimized:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])


def relative_error(original, optimized, dynamic_size=1, seeds=(11, 12)):
    """The largest difference of an output by the largest value of that output, in ONNX Runtime."""
    sessions = [session_of(original), session_of(optimized)]
    names = [[value.name for value in session.get_outputs()] for session in sessions]
    assert names[0] == names[1]
    worst = 0.0
    for seed in seeds:
        feeds = sample_inputs.session_inputs(sessions[0], seed, dynamic_size)
        for a, b in zip(*(session.run(None, feeds) for session in sessions)):
            assert a.shape == b.shape and a.dtype == b.dtype
            assert np.abs(a).max() > 0, "a dead output proves nothing"
            worst = max(worst, float(np.abs(a - b).max() / np.abs(a).max()))
    return worst


def assert_equal_in_onnx_runtime(original, optimized, dynamic_size=1):
    assert relative_error(original, optimized, dynamic_size) <= REL_ERROR_MAX
