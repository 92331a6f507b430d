"""The kernels of convolutions and matrix products: alone, and with what can be fused onto them.

A kernel is a Kernel: its family, its problem in the fields of
gpu_worker/backends/cuda/problem/problem.h, the nodes
it covers, and whether it stands in the model or only in what rewrites make of it.
"""

import dataclasses
import math

from folding import is_per_channel
from model_graph import Node

DEFAULT_PADS = [0, 0, 0, 0]


@dataclasses.dataclass
class Kernel:
    """A kernel: `nodes` in topological order, `outputs` what leaves it.

    partial: more could be fused onto it, or others could take it in.
    """

    family: str
    problem: dict
    nodes: list
    outputs: list
    origin: str = "model"
    partial: bool = False


@dataclasses.dataclass
class Chain:
    """What follows a convolution or matrix product inside its kernel."""

    nodes: list
    bias: bool = False
    residual: bool = False
    activation: str = "none"

    @property
    def output(self):
        return self.nodes[-1].output


def activation_of(graph, node):
    """The activation that the node is, in the words of problem.h; None for any other node."""
    if node.op == "Clip":
        bounds = [graph.scalar(name) for name in node.inputs[1:]]
        return "relu6" if bounds == [0.0, 6.0] else None
    if node.op == "Gelu":
        tanh = node.attributes.get("approximate", b"none") == b"tanh"
        return "gelu_tanh" if tanh else "gelu"
    names = {"Relu": "relu", "Swish": "silu", "Sigmoid": "sigmoid", "Tanh": "tanh"}
    return names.get(node.op)


def sole_user(graph, links, name):
    """The node that reads the tensor, if it is the only one and nothing else sees the tensor."""
    users = links["users"].get(name, [])
    return users[0] if len(users) == 1 and name not in graph.outputs else None


def is_column_bias(graph, name, other):
    """Whether the tensor is a constant row that is added to every row of `other`."""
    return graph.is_constant(name) and graph.shapes[name] == graph.shapes[other][-1:]


def grow_chains(graph, links, root, bias):
    """Returns the ways to end a kernel that starts at `root`: alone, at a residual, and at the end.

    The order of problem.h: bias, then residual, then one activation.
    """
    chain = Chain([root], bias=bias)
    chains = [chain]
    while chain.activation == "none":
        node = sole_user(graph, links, chain.output)
        if node is None:
            break
        step = dataclasses.replace(chain, nodes=chain.nodes + [node])
        activation = activation_of(graph, node)
        if activation is not None and node.inputs[0] == chain.output:
            step.activation = activation
        elif node.op != "Add" or chain.residual or node.inputs[0] == node.inputs[1]:
            break
        else:
            other = node.inputs[1 if node.inputs[0] == chain.output else 0]
            if not chain.bias and _is_bias(graph, root, other, chain.output):
                step.bias = True
            elif not graph.is_constant(other) and \
                    graph.shapes[other] == graph.shapes[chain.output]:
                if len(chain.nodes) > 1 and chain is not chains[-1]:
                    chains.append(chain)
                step.residual = True
            else:
                break
        chain = step
    if chain is not chains[-1]:
        chains.append(chain)
    return chains


def _is_bias(graph, root, name, value):
    if root.op == "Conv":
        return is_per_channel(graph, name, graph.shapes[value])
    return is_column_bias(graph, name, value)


def conv_fields(graph, node, chain=None, prologue_relu=False):
    """The fields of ConvProblem; None for what is no convolution of pictures."""
    shape, weights = graph.shapes[node.inputs[0]], graph.shapes[node.inputs[1]]
    attributes = node.attributes
    automatic = attributes.get("auto_pad", b"NOTSET") not in (b"NOTSET", b"VALID")
    if len(shape) != 4 or automatic or not graph.is_constant(node.inputs[1]):
        return None
    fields = dict(zip("nchw", shape))
    fields.update(k=weights[0], r=weights[2], s=weights[3])
    fields["stride"] = list(attributes.get("strides", [1, 1]))
    fields["dilation"] = list(attributes.get("dilations", [1, 1]))
    fields["pad"] = list(attributes.get("pads", DEFAULT_PADS))
    fields["groups"] = attributes.get("group", 1)
    chain = chain or Chain([node], bias=has_bias(node))
    fields.update(bias=chain.bias, residual=chain.residual, prologue_relu=prologue_relu,
                  activation=chain.activation)
    return fields


def has_bias(node):
    """Whether a Conv or Gemm has its third input."""
    return len(node.inputs) > 2 and bool(node.inputs[2])


def conv_kernels(graph, links, node):
    """Yields the kernels of one Conv: each chain, and each with the relu in front of it."""
    if conv_fields(graph, node) is None:
        return
    before = links["producers"].get(node.inputs[0])
    relu = before if before is not None and before.op == "Relu" else None
    chains = grow_chains(graph, links, node, has_bias(node))
    for chain in chains:
        fields = {"problem": "conv", **conv_fields(graph, node, chain)}
        yield Kernel("conv", fields, chain.nodes, [chain.output],
                     partial=chain is not chains[-1])
        if relu is not None:
            yield Kernel("conv", {**fields, "prologue_relu": True}, [relu] + chain.nodes,
                         [chain.output], "rewrite")
    yield from _separable_kernels(graph, links, node, relu)


def is_pointwise(graph, node):
    """Whether the node is a 1x1 convolution without stride, padding and groups."""
    fields = conv_fields(graph, node) if node.op == "Conv" else None
    return fields is not None and (fields["r"], fields["s"], fields["groups"]) == (1, 1, 1) \
        and fields["stride"] == [1, 1] and fields["pad"] == DEFAULT_PADS


def _separable_kernels(graph, links, node, relu):
    """Depthwise and pointwise convolution in one kernel, with the relu in front of them or not."""
    fields = conv_fields(graph, node)
    if not fields["groups"] == fields["c"] == fields["k"] or fields["c"] == 1:
        return
    for depthwise in grow_chains(graph, links, node, has_bias(node)):
        pointwise = sole_user(graph, links, depthwise.output)
        if depthwise.residual or pointwise is None or not is_pointwise(graph, pointwise):
            continue
        for chain in grow_chains(graph, links, pointwise, has_bias(pointwise)):
            problem = {"problem": "separable_conv", **conv_fields(graph, node, depthwise),
                       "pointwise_k": graph.shapes[pointwise.output][1],
                       "pointwise_bias": chain.bias, "pointwise_activation": chain.activation,
                       "pointwise_residual": chain.residual}
            nodes = depthwise.nodes + chain.nodes
            yield Kernel("separable_conv", problem, nodes, [chain.output], "rewrite")
            if relu is not None:
                yield Kernel("separable_conv", {**problem, "prologue_relu": True},
                             [relu] + nodes, [chain.output], "rewrite")


def gemm_fields(graph, node, chain=None):
    """The fields of GemmProblem of a MatMul or Gemm; None for what GemmProblem cannot say."""
    a, b = graph.shapes[node.inputs[0]], graph.shapes[node.inputs[1]]
    if len(a) < 2 or len(b) < 2 or not graph.is_float(node.output):
        return None
    weights = graph.is_constant(node.inputs[1])
    if graph.is_constant(node.inputs[0]) or (weights and len(b) != 2):
        return None
    attributes = node.attributes
    if attributes.get("alpha", 1.0) != 1.0 or attributes.get("beta", 1.0) != 1.0:
        return None
    transpose_a = bool(attributes.get("transA", 0))
    transpose_b = bool(attributes.get("transB", 0))
    out = graph.shapes[node.output]
    inner = a[-2] if transpose_a else a[-1]
    batch = 1 if weights or len(b) == 2 else math.prod(out[:-2])
    if not weights and a[:-2] != b[:-2]:
        return None
    chain = chain or Chain([node], bias=has_bias(node))
    return {"batch": batch, "m": math.prod(out[:-1]) // batch, "n": out[-1], "k": inner,
            "weights": weights, "transpose_a": transpose_a, "transpose_b": transpose_b,
            "bias": chain.bias, "residual": chain.residual, "activation": chain.activation}


def gemm_kernels(graph, links, node):
    """Yields the kernels of one MatMul or Gemm: each chain."""
    if gemm_fields(graph, node) is None:
        return
    if has_bias(node) and not is_column_bias(graph, node.inputs[2], node.output):
        return
    chains = grow_chains(graph, links, node, has_bias(node))
    for chain in chains:
        fields = {"problem": "gemm", **gemm_fields(graph, node, chain)}
        yield Kernel("matmul", fields, chain.nodes, [chain.output],
                     partial=chain is not chains[-1])


def merged_conv(graph, node, channels, kernel, pads, bias):
    """Returns the Conv that computes several: another width, kernel size and padding."""
    weights = (channels, graph.shapes[node.inputs[1]][1], *kernel)
    inputs = [node.inputs[0], graph.parameter(weights)]
    if bias:
        inputs.append(graph.parameter((channels,)))
    n, _, h, w = graph.shapes[node.inputs[0]]
    strides = list(node.attributes.get("strides", [1, 1]))
    height = (h + pads[0] + pads[2] - kernel[0]) // strides[0] + 1
    width = (w + pads[1] + pads[3] - kernel[1]) // strides[1] + 1
    attributes = {"dilations": [1, 1], "group": 1, "kernel_shape": list(kernel),
                  "pads": list(pads), "strides": strides}
    return Node("Conv", inputs, [graph.tensor((n, channels, height, width))], attributes)
