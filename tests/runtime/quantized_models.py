"""A small network as exporters write quantized ones: bytes between all operators."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

CHANNELS = 24
SCALE = 0.03


class Writer:
    """Collects nodes; every value has a scale of its own and is named by what it is in bytes."""

    def __init__(self, seed, signed):
        self.random = np.random.default_rng(seed)
        self.bytes = np.int8 if signed else np.uint8
        self.zero = -5 if signed else 121
        self.nodes = []
        self.constants = []
        self.scales = {}

    def constant(self, name, value):
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def quantize(self, value, name, scale, zero=None):
        zero = self.zero if zero is None else zero
        self.scales[name] = scale
        parameters = [self.constant(f"{name}_scale", np.float32(scale)),
                      self.constant(f"{name}_zero", self.bytes(zero))]
        self.nodes.append(helper.make_node("QuantizeLinear", [value, *parameters], [name]))
        return name

    def dequantize(self, name):
        result = f"{name}_float"
        if not any(result in node.output for node in self.nodes):
            self.nodes.append(helper.make_node(
                "DequantizeLinear", [name, f"{name}_scale", f"{name}_zero"], [result]))
        return result

    def weights(self, name, shape, axis, source):
        scales = self.random.uniform(0.004, 0.012, shape[axis]).astype(np.float32)
        integers = self.random.integers(-127, 128, shape).astype(np.int8)
        inputs = [self.constant(f"{name}_int8", integers), self.constant(f"{name}_scale", scales),
                  self.constant(f"{name}_zero", np.zeros(shape[axis], np.int8))]
        self.nodes.append(helper.make_node("DequantizeLinear", inputs, [name], axis=axis))
        units = np.float32(self.scales[source]) * scales
        bias = self.random.integers(-3000, 3000, shape[axis]).astype(np.int32)
        inputs = [self.constant(f"{name}_bias_int32", bias),
                  self.constant(f"{name}_bias_scale", units)]
        self.nodes.append(helper.make_node("DequantizeLinear", inputs, [f"{name}_bias"], axis=0))
        return [name, f"{name}_bias"]

    def convolve(self, source, name, shape, activation=None, zero=None, **attributes):
        inputs = [self.dequantize(source), *self.weights(f"{name}_w", shape, 0, source)]
        self.nodes.append(helper.make_node("Conv", inputs, [f"{name}_sum"], **attributes))
        value = f"{name}_sum"
        if activation is not None:
            self.nodes.append(helper.make_node(activation, [value], [f"{name}_bounded"]))
            value = f"{name}_bounded"
        return self.quantize(value, name, SCALE * np.sqrt(np.prod(shape[1:])) / 3, zero)


def bottleneck(signed=False, seed=0):
    """A mobile network's block with a residual, a pool and a classifier; the result is bytes."""
    net = Writer(seed, signed)
    lowest = -128 if signed else 0
    image = net.quantize("image", "image_bytes", 0.02)
    stem = net.convolve(image, "stem", (CHANNELS, 3, 3, 3), "Relu", pads=[1, 1, 1, 1],
                        strides=[2, 2])
    wide = net.convolve(stem, "wide", (80, CHANNELS, 1, 1), "Relu", lowest)
    deep = net.convolve(wide, "deep", (80, 1, 3, 3), "Relu", lowest, pads=[1, 1, 1, 1], group=80)
    thin = net.convolve(deep, "thin", (CHANNELS, 80, 1, 1))
    summed = [net.dequantize(stem), net.dequantize(thin)]
    net.nodes.append(helper.make_node("Add", summed, ["sum"]))
    joined = net.quantize("sum", "joined", 0.25)
    net.nodes.append(helper.make_node("GlobalAveragePool", [net.dequantize(joined)], ["pooled"]))
    net.nodes.append(helper.make_node("Flatten", ["pooled"], ["flat"]))
    flat = net.quantize("flat", "flat_bytes", 0.05)
    inputs = [net.dequantize(flat), *net.weights("classes_w", (10, CHANNELS), 0, flat)]
    net.nodes.append(helper.make_node("Gemm", inputs, ["classes_sum"], transB=1))
    result = net.quantize("classes_sum", "classes", 0.08)
    kind = TensorProto.INT8 if signed else TensorProto.UINT8
    graph = helper.make_graph(
        net.nodes, "bottleneck",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, 20, 20])],
        [helper.make_tensor_value_info(result, kind, [1, 10])], net.constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    return model.SerializeToString()
