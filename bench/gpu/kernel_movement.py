"""The kernels that are no convolution and no matrix product: pools, rows, elementwise, movement."""

import math

import numpy as np

from folding import is_per_channel
from kernel_forms import Kernel, activation_of, sole_user

ELEMENTWISE_NODES_MAX = 16
ELEMENTWISE_OPERANDS_MAX = 8

FUNCTION_OF_OP = {
    "Add": "add", "Sub": "sub", "Mul": "mul", "Div": "div", "Max": "max", "Min": "min",
    "Pow": "pow", "Neg": "neg", "Exp": "exp", "Log": "log", "Sqrt": "sqrt", "Erf": "erf",
    "Tanh": "tanh", "Sigmoid": "sigmoid", "Relu": "relu", "Swish": "silu", "Abs": "abs",
    "Gelu": "gelu", "Clip": "clip", "HardSwish": "hard_swish", "HardSigmoid": "hard_sigmoid",
}
ROW_KINDS = {"Softmax": "softmax", "LogSoftmax": "log_softmax", "ReduceSum": "reduce_sum",
             "ReduceMean": "reduce_mean", "ReduceMax": "reduce_max"}


def pool_kernels(graph, node):
    """Yields the kernel of a pooling operator, the global ones included."""
    if node.op not in ("MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool"):
        return
    shape, out, attributes = graph.shapes[node.inputs[0]], graph.shapes[node.output], \
        node.attributes
    is_explicit = attributes.get("auto_pad", b"NOTSET") in (b"NOTSET", b"VALID")
    if len(shape) != 4 or not is_explicit or set(attributes.get("dilations", [1])) != {1}:
        return
    is_global = node.op.startswith("Global")
    window = shape[2:] if is_global else attributes["kernel_shape"]
    mode = "max" if "Max" in node.op else "average"
    if mode == "average" and attributes.get("count_include_pad", 0):
        mode = "average_with_padding"
    problem = {"problem": "pool", "mode": mode, **dict(zip("nchw", shape)), "r": window[0],
               "s": window[1], "stride": list(attributes.get("strides", [1, 1])),
               "pad": list(attributes.get("pads", [0, 0, 0, 0])),
               "output_h": out[2], "output_w": out[3]}
    yield Kernel("reduce" if is_global else "pool", problem, [node], [node.output])


def _axis(graph, node, default):
    axis = node.attributes.get("axis", default)
    return axis + len(graph.shapes[node.inputs[0]]) if axis < 0 else axis


def row_kernels(graph, links, node):
    """Yields softmax, layer normalization and reductions over the last axes."""
    shape = graph.shapes[node.inputs[0]] if node.inputs else ()
    if not shape or not graph.is_float(node.output):
        return
    first = None
    if node.op in ("Softmax", "LogSoftmax"):
        first = _axis(graph, node, -1)
        first = first if first == len(shape) - 1 else None
    elif node.op == "LayerNormalization":
        first = _axis(graph, node, -1)
    elif node.op in ROW_KINDS:
        first = _first_reduced_axis(graph, node)
    if first is None:
        return
    kind = ROW_KINDS.get(node.op, "layer_norm")
    family = "layer_norm" if kind == "layer_norm" else \
        "softmax" if "softmax" in kind else "reduce"
    problem = {"problem": "rows", "kind": kind, "rows": math.prod(shape[:first]),
               "columns": math.prod(shape[first:]), "residual": False}
    if kind == "layer_norm":
        problem["epsilon"] = float(np.float32(node.attributes.get("epsilon", 1e-5)))
    yield Kernel(family, problem, [node], [node.output])
    add = links["producers"].get(node.inputs[0])
    if kind != "layer_norm" or add is None or add.op != "Add":
        return
    is_residual = all(not graph.is_constant(name) and graph.shapes[name] == shape
                      for name in add.inputs)
    if is_residual and sole_user(graph, links, add.output) is node:
        yield Kernel(family, {**problem, "residual": True}, [add, node], [node.output], "rewrite")


def _first_reduced_axis(graph, node):
    """The first reduced axis when the reduced ones are the last ones, None else."""
    rank = len(graph.shapes[node.inputs[0]])
    axes = node.attributes.get("axes")
    if axes is None and len(node.inputs) > 1 and node.inputs[1]:
        value = graph.constants.get(node.inputs[1])
        axes = None if value is None else value.tolist()
    if not axes:
        return None
    axes = sorted(axis % rank for axis in axes)
    return axes[0] if axes == list(range(axes[0], rank)) else None


def attention_kernels(graph, node):
    """Yields the kernel of an Attention operator."""
    if node.op != "Attention":
        return
    query, key = graph.shapes[node.inputs[0]], graph.shapes[node.inputs[1]]
    if len(query) != 4 or graph.shapes[node.inputs[2]] != key:
        return
    problem = {"problem": "attention", "batch": query[0], "heads": query[1], "query": query[2],
               "keys": key[2], "dim": query[3], "mask": len(node.inputs) > 3, "causal": False}
    if "scale" in node.attributes:
        problem["scale"] = float(np.float32(node.attributes["scale"]))
    if problem["mask"]:
        mask = [1] * 4 + list(graph.shapes[node.inputs[3]])
        mask = mask[-4:]
        # One that repeats along the keys shifts every score alike, and changes nothing.
        if mask[3] != key[2]:
            return
        problem.update(mask_batch=mask[0] != 1, mask_heads=mask[1] != 1, mask_query=mask[2] != 1)
    yield Kernel("attention", problem, [node], [node.output])


def is_elementwise(graph, node):
    """Whether ElementwiseProblem has the operator."""
    if node.op not in FUNCTION_OF_OP or not graph.is_float(node.output):
        return False
    if not all(graph.is_float(name) for name in node.inputs if name):
        return False
    return node.op != "Clip" or all(graph.scalar(name) is not None for name in node.inputs[1:3])


def _number(value):
    """A number of an expression: the shortest text of the float32."""
    return repr(float(f"{value:.9g}"))


class _Expression:
    """Collects the tree of elementwise nodes above a tensor as an expression over its inputs."""

    def __init__(self, graph, links, root, single):
        self.graph, self.links, self.root = graph, links, root
        self.single = single
        self.nodes, self.inputs = [], []
        self.text = self._node(root)

    def _node(self, node):
        graph = self.graph
        arguments = [self._argument(name) for name in node.inputs if name]
        self.nodes.append(node)
        function = FUNCTION_OF_OP[node.op]
        if node.op == "Clip":
            return f"clip({','.join((arguments + ['-3.4e38', '3.4e38'])[:3])})" \
                if len(arguments) == 3 else f"max({','.join(arguments)})"
        if function == "gelu" and activation_of(graph, node) == "gelu_tanh":
            function = "gelu_tanh"
        if function == "hard_swish":
            return f"mul({arguments[0]},clip(add(mul({arguments[0]},0.16666667),0.5),0.0,1.0))"
        if function == "hard_sigmoid":
            alpha, beta = (_number(node.attributes.get(*item))
                           for item in (("alpha", 0.2), ("beta", 0.5)))
            return f"clip(add(mul({arguments[0]},{alpha}),{beta}),0.0,1.0)"
        while len(arguments) > 2:  # Max and Min of several
            arguments[:2] = [f"{function}({arguments[0]},{arguments[1]})"]
        return f"{function}({','.join(arguments)})"

    def _argument(self, name):
        graph = self.graph
        if graph.scalar(name) is not None:
            return _number(graph.scalar(name))
        node = self.links["producers"].get(name)
        joins = (not self.single and node is not None and is_elementwise(graph, node)
                 and sole_user(graph, self.links, name) is not None
                 and graph.shapes[name] == graph.shapes[self.root.output]
                 and len(self.nodes) < ELEMENTWISE_NODES_MAX)
        if joins:
            return self._node(node)
        if name not in self.inputs:
            self.inputs.append(name)
        return f"x{self.inputs.index(name)}"


def elementwise_kernels(graph, links, node):
    """Yields the node as a kernel, and the whole chain that ends in it."""
    if not is_elementwise(graph, node):
        return
    scale_shift = _scale_shift(graph, links, node)
    if scale_shift is not None:
        yield scale_shift
    reader = sole_user(graph, links, node.output)
    continues = reader is not None and is_elementwise(graph, reader) and \
        graph.shapes[reader.output] == graph.shapes[node.output]
    for single in (True, False):
        expression = _Expression(graph, links, node, single)
        is_whole = not single and not continues and len(expression.nodes) > 1
        if not (single or is_whole) or len(expression.inputs) > ELEMENTWISE_OPERANDS_MAX:
            continue
        if is_whole and scale_shift is not None and scale_shift.nodes == expression.nodes:
            continue
        if all(graph.is_constant(name) for name in expression.inputs):
            continue
        nodes = sorted(expression.nodes, key=graph.nodes.index)
        problem = {"problem": "elementwise", "expression": expression.text,
                   "shape": list(graph.shapes[node.output]),
                   "inputs": [list(graph.shapes[name]) for name in expression.inputs]}
        yield Kernel("elementwise", problem, nodes, [node.output])


def _scale_shift(graph, links, node):
    """The kernel x * scale[c] + shift[c] and its activation that ends in `node`, or None."""
    activation = activation_of(graph, node)
    add = links["producers"].get(node.inputs[0]) if activation else node
    if add is None or add.op != "Add" or (activation and
                                          sole_user(graph, links, add.output) is not node):
        return None
    mul = next((links["producers"].get(name) for name in add.inputs
                if not graph.is_constant(name)), None)
    if mul is None or mul.op != "Mul" or sole_user(graph, links, mul.output) is not add:
        return None
    shape = graph.shapes[node.output]
    if not all(any(is_per_channel(graph, name, shape) for name in step.inputs)
               for step in (mul, add)):
        return None
    problem = {"problem": "scale_shift", "n": shape[0], "c": shape[1],
               "spatial": math.prod(shape[2:]), "activation": activation or "none"}
    nodes = [mul, add] + ([node] if activation else [])
    return Kernel("scale_shift", problem, nodes, [node.output])


def movement_kernels(graph, node):
    """Yields transposes, concatenations, slices, gathers and padding of floats."""
    if not node.outputs or not graph.is_float(node.output):
        return
    problem = {"problem": "movement",
               "inputs": [list(graph.shapes[node.inputs[0]])]}
    family = node.op.lower()
    if node.op == "Transpose":
        rank = len(graph.shapes[node.inputs[0]])
        problem["permutation"] = list(node.attributes.get("perm", range(rank)[::-1]))
    elif node.op == "Concat":
        problem.update(inputs=[list(graph.shapes[name]) for name in node.inputs],
                       axis=_axis(graph, node, 0))
    elif node.op in ("Split", "Slice"):
        family = "slice"
        if not problem.update(_slice_fields(graph, node)) and "starts" not in problem:
            return
    elif node.op == "Gather":
        problem["inputs"].append(list(graph.shapes[node.inputs[1]]))
        problem["axis"] = _axis(graph, node, 0)
    elif node.op == "Pad":
        pads = graph.constants.get(node.inputs[1])
        rank = len(graph.shapes[node.inputs[0]])
        if pads is None or len(pads) != 2 * rank or pads.min() < 0 or \
                node.attributes.get("mode", b"constant") != b"constant":
            return
        problem.update(starts=pads[:rank].tolist(), sizes=pads[rank:].tolist())
    else:
        return
    problem["kind"] = family
    yield Kernel(family, problem, [node], list(node.outputs))


def _slice_fields(graph, node):
    """axis, starts and sizes of a Split, or of a Slice of one axis with step one; else nothing."""
    if node.op == "Split":
        axis = _axis(graph, node, 0)
        sizes = [graph.shapes[name][axis] for name in node.outputs]
        return {"axis": axis, "starts": [sum(sizes[:i]) for i in range(len(sizes))],
                "sizes": sizes}
    shape, out = graph.shapes[node.inputs[0]], graph.shapes[node.output]
    cut = [axis for axis in range(len(shape)) if shape[axis] != out[axis]]
    starts, axes, steps = (graph.constants.get(node.inputs[i]) if i < len(node.inputs) else None
                           for i in (1, 3, 4))
    if len(cut) != 1 or starts is None or (steps is not None and (steps != 1).any()):
        return {}
    order = list(range(len(starts))) if axes is None else [int(a) % len(shape) for a in axes]
    start = int(starts[order.index(cut[0])])
    return {"axis": cut[0], "starts": [start + shape[cut[0]] if start < 0 else start],
            "sizes": [out[cut[0]]]}
