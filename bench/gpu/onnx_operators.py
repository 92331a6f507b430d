"""What each ONNX operator computes, once for every framework.

An operator is a function of a Call: the node, its argument values, the static facts of the graph,
and the framework as a small backend (torch_backend.py, jax_backend.py). Shapes, axes and other
integers are known before anything runs, so traces are flat and without control flow.
"""

import dataclasses
import math

from onnx import TensorProto

# Operators that take a constant with one element as a plain number.
TAKES_NUMBERS = {"Add", "Sub", "Mul", "Div", "Pow", "Clip", "Max", "Min"}


@dataclasses.dataclass
class Call:
    """One node about to run; `values` stand in the order of its inputs, None for an omitted one."""

    backend: object
    graph: object
    node: object
    values: list

    @property
    def x(self):
        return self.values[0]

    def shape(self, index=0):
        return self.graph.shapes[self.node.inputs[index]]

    @property
    def output_shape(self):
        return self.graph.shapes[self.node.output]

    def attribute(self, name, default=None):
        value = self.node.attributes.get(name, default)
        return value.decode() if isinstance(value, bytes) else value

    def axis(self, default):
        axis = self.attribute("axis", default)
        return axis + len(self.shape()) if axis < 0 else axis

    def integers(self, index, attribute=None):
        """The constant integers of an input, or of the attribute that older opsets have."""
        if attribute is not None and attribute in self.node.attributes:
            return list(self.node.attributes[attribute])
        if len(self.node.inputs) <= index or not self.node.inputs[index]:
            return None
        return [int(item) for item in self.graph.constants[self.node.inputs[index]].reshape(-1)]

    def number(self, index, default):
        name = self.node.inputs[index] if len(self.node.inputs) > index else ""
        return self.graph.scalar(name) if name else default


def _conv(call):
    attribute = call.attribute
    pads = attribute("pads", [0, 0, 0, 0])
    if attribute("auto_pad", "NOTSET") not in ("NOTSET", "VALID"):
        raise NotImplementedError(f"auto_pad {attribute('auto_pad')}")
    bias = call.values[2] if len(call.values) > 2 else None
    return call.backend.conv(call.x, call.values[1], bias, attribute("strides", [1, 1]), pads,
                             attribute("dilations", [1, 1]), attribute("group", 1))


def _pool(call):
    window = call.attribute("kernel_shape")
    strides, pads = call.attribute("strides", [1, 1]), call.attribute("pads", [0, 0, 0, 0])
    rounds_up = bool(call.attribute("ceil_mode", 0))
    if call.attribute("dilations", [1, 1]) != [1, 1] or len(window) != 2:
        raise NotImplementedError("pooling with dilations or not of pictures")
    if call.node.op == "MaxPool":
        return call.backend.max_pool(call.x, window, strides, pads, rounds_up)
    return call.backend.average_pool(call.x, window, strides, pads, rounds_up,
                                     bool(call.attribute("count_include_pad", 0)))


def _gemm(call):
    backend = call.backend
    a = backend.transpose(call.x, [1, 0]) if call.attribute("transA", 0) else call.x
    b = backend.transpose(call.values[1], [1, 0]) if call.attribute("transB", 0) \
        else call.values[1]
    alpha, beta = call.attribute("alpha", 1.0), call.attribute("beta", 1.0)
    bias = call.values[2] if len(call.values) > 2 else None
    if bias is not None and alpha == 1.0 and beta == 1.0:
        return backend.addmm(bias, a, b)
    product = backend.matmul(a, b) * alpha
    return product if bias is None else product + bias * beta


def _clip(call):
    return call.backend.clip(call.x, call.number(1, -math.inf), call.number(2, math.inf))


def _batch_normalization(call):
    scale, shift, mean, variance = call.values[1:5]
    return call.backend.batch_norm(
        call.x, scale, shift, mean, variance, call.attribute("epsilon", 1e-5))


def _layer_normalization(call):
    first = call.axis(-1)
    bias = call.values[2] if len(call.values) > 2 else None
    return call.backend.layer_norm(
        call.x, call.shape()[first:], call.values[1], bias, call.attribute("epsilon", 1e-5))


def _reduce_mean(call):
    rank = len(call.shape())
    axes = call.integers(1, "axes") or list(range(rank))
    keep = bool(call.attribute("keepdims", 1))
    return call.backend.mean(call.x, [axis % rank for axis in axes], keep)


def _split(call):
    axis = call.axis(0)
    sizes = [call.graph.shapes[name][axis] for name in call.node.outputs]
    return call.backend.split(call.x, sizes, axis)


def _slice(call):
    shape = call.shape()
    starts, ends = call.integers(1, "starts"), call.integers(2, "ends")
    axes = call.integers(3, "axes") or list(range(len(starts)))
    steps = call.integers(4) or [1] * len(starts)
    if set(steps) != {1}:
        raise NotImplementedError("Slice with steps")
    ranges = [slice(None)] * len(shape)
    for start, end, axis in zip(starts, ends, axes):
        # Python's slices clamp the way ONNX's do.
        ranges[axis] = slice(start, min(end, shape[axis]))
    return call.x[tuple(ranges)]


def _gather(call):
    axis = call.axis(0)
    index = call.node.inputs[1]
    if call.graph.is_constant(index) and call.graph.shapes[index] == ():
        return call.x[(slice(None),) * axis + (int(call.graph.constants[index]),)]
    return call.backend.take(call.x, call.values[1], axis, len(call.shape()))


def _pad(call):
    if call.attribute("mode", "constant") != "constant":
        raise NotImplementedError("Pad that copies")
    pads = call.integers(1)
    return call.backend.pad(call.x, pads[:len(pads) // 2], pads[len(pads) // 2:],
                            call.number(2, 0.0))


def _cast(call):
    to = call.attribute("to")
    return call.backend.cast(call.x, to)


def _reshape(call):
    return call.backend.reshape(call.x, call.output_shape)


def _hard_sigmoid(call):
    alpha, beta = call.attribute("alpha", 0.2), call.attribute("beta", 0.5)
    return call.backend.clip(call.x * alpha + beta, 0.0, 1.0)


def _hard_swish(call):
    return call.x * call.backend.clip(call.x * (1 / 6) + 0.5, 0.0, 1.0)


def _unary(name):
    return lambda call: getattr(call.backend, name)(call.x)


OPERATORS = {
    "Add": lambda call: call.x + call.values[1],
    "And": lambda call: call.x & call.values[1],
    "AveragePool": _pool,
    "BatchNormalization": _batch_normalization,
    "Cast": _cast,
    "Clip": _clip,
    "Concat": lambda call: call.backend.concat(call.values, call.axis(0)),
    "Conv": _conv,
    "Div": lambda call: call.x / call.values[1],
    "Dropout": lambda call: call.x,
    "Equal": lambda call: call.x == call.values[1],
    "Erf": _unary("erf"),
    "Expand": lambda call: call.backend.expand(call.x, call.output_shape),
    "Flatten": _reshape,
    "Gather": _gather,
    "Gelu": lambda call: call.backend.gelu(call.x, call.attribute("approximate", "none")),
    "Gemm": _gemm,
    "GlobalAveragePool": lambda call: call.backend.mean(
        call.x, list(range(2, len(call.shape()))), True),
    "GreaterOrEqual": lambda call: call.x >= call.values[1],
    "HardSigmoid": _hard_sigmoid,
    "HardSwish": _hard_swish,
    "Identity": lambda call: call.x,
    "LayerNormalization": _layer_normalization,
    "MatMul": lambda call: call.backend.matmul(call.x, call.values[1]),
    "MaxPool": _pool,
    "Mul": lambda call: call.x * call.values[1],
    "Pad": _pad,
    "Pow": lambda call: call.x ** call.values[1],
    "ReduceMean": _reduce_mean,
    "Relu": _unary("relu"),
    "Reshape": _reshape,
    "Sigmoid": _unary("sigmoid"),
    "Slice": _slice,
    "Softmax": lambda call: call.backend.softmax(call.x, call.axis(-1)),
    "Split": _split,
    "Sqrt": _unary("sqrt"),
    "Squeeze": _reshape,
    "Sub": lambda call: call.x - call.values[1],
    "Tanh": _unary("tanh"),
    "Transpose": lambda call: call.backend.transpose(call.x, call.attribute(
        "perm", list(range(len(call.shape())))[::-1])),
    "Unsqueeze": _reshape,
    "Where": lambda call: call.backend.where(*call.values),
}


def check_operators(graph):
    """Raises NotImplementedError naming the operators that the table lacks."""
    missing = sorted({node.op for node in graph.nodes} - set(OPERATORS))
    if missing:
        raise NotImplementedError(f"operators not in the table: {', '.join(missing)}")


def constant_uses(graph):
    """Returns the constants that must be tensors; the others are numbers or static integers."""
    names = []
    for node in graph.nodes:
        for index, name in enumerate(node.inputs):
            if name and graph.is_constant(name) and not _is_static(graph, node, index):
                names.append(name)
    for name in graph.outputs:
        if graph.is_constant(name):
            raise NotImplementedError(f"output {name} is a constant")
    return list(dict.fromkeys(names))


def _is_static(graph, node, index):
    name = node.inputs[index]
    if node.op in TAKES_NUMBERS and _is_number(graph, node, index):
        return True
    if node.op == "Gather" and index == 1:
        return graph.shapes[name] == ()
    static = {"Reshape": (1,), "Expand": (1,), "Slice": (1, 2, 3, 4), "Pad": (1, 2),
              "Squeeze": (1,), "Unsqueeze": (1,), "Split": (1,), "ReduceMean": (1,)}
    return index in static.get(node.op, ())


def _is_number(graph, node, index):
    """One element, a float, and not the only operand that could decide the type of the result."""
    name = node.inputs[index]
    value = graph.constants[name]
    return value is not None and value.size == 1 and graph.dtypes[name] == TensorProto.FLOAT and \
        len(graph.shapes[name]) <= len(graph.shapes[node.output])


def run(backend, graph, constants, inputs):
    """Computes the graph's outputs from its inputs (both in the graph's order)."""
    values = dict(zip(graph.inputs, inputs))
    last_use = {name: node for node in graph.nodes for name in node.inputs}
    for node in graph.nodes:
        arguments = [_value(backend, graph, node, index, values, constants)
                     for index in range(len(node.inputs))]
        result = OPERATORS[node.op](Call(backend, graph, node, arguments))
        results = result if len(node.outputs) > 1 or node.op == "Split" else [result]
        values.update(zip(node.outputs, results))
        for name in set(node.inputs):
            if last_use[name] is node and name not in graph.outputs:
                values.pop(name, None)
    return [values[name] for name in graph.outputs]


def _value(backend, graph, node, index, values, constants):
    name = node.inputs[index]
    if not name:
        return None
    if name in values:
        return values[name]
    if name in constants and not _is_static(graph, node, index):
        return constants[name]
    number = graph.scalar(name)
    # A mask's -3e38 would be infinite as a half float, and 0 * infinity is no number.
    return number if number is None else min(max(number, -backend.largest), backend.largest)
