"""The usual foldings, on a ModelGraph: what every optimizer does before it looks at kernels.

Identities go, padding and BatchNormalization go into convolutions, biases into convolutions and
matrix products; GELU, SiLU, layer normalization and attention are recognised from the operators
that exporters spell them with. Each pass looks at every node once and rewires in place.
"""

import math

import numpy as np

from model_graph import Node

CLOSE = 1e-3  # constants such as sqrt(2) are rounded by exporters


def fold(graph):
    """Applies every folding but attention to a copy, which it returns."""
    graph = graph.copy()
    for apply in (_remove_identities, _fold_pads, _fold_batch_norms, _fold_biases, _find_gelu_erf,
                  _find_gelu_tanh, _find_swish, _find_layer_norm, _fold_gemm_biases):
        _each_node(graph, apply)
    return graph


def fold_attention(graph):
    """Returns a copy of a folded graph in which attention is one operator."""
    graph = graph.copy()
    _each_node(graph, _find_attention)
    return graph


class _Links:
    """Who makes and who reads what; rebuilt after each change, which keeps it right."""

    def __init__(self, graph):
        self.graph = graph
        self.refresh()

    def refresh(self):
        self.made_by = self.graph.producers()
        self.read_by = self.graph.users()

    def sole_user(self, name, *ops):
        """The only node that reads the tensor, if it is one of `ops`; None else."""
        users = self.read_by.get(name, [])
        if len(users) != 1 or name in self.graph.outputs or (ops and users[0].op not in ops):
            return None
        return users[0]

    def producer(self, name, *ops):
        node = self.made_by.get(name)
        return node if node is not None and (not ops or node.op in ops) else None

    def replace(self, old_nodes, new_nodes, old_name, new_name):
        """Puts new nodes where the last of the old ones stood; readers of one tensor read another.

        Old nodes that others still need stay.
        """
        graph = self.graph
        last = max(graph.nodes.index(node) for node in old_nodes)
        graph.nodes[last + 1:last + 1] = new_nodes
        for node in graph.nodes:
            if node not in new_nodes:
                node.inputs = [new_name if name == old_name else name for name in node.inputs]
        graph.outputs = [new_name if name == old_name else name for name in graph.outputs]
        graph.remove_dead_nodes()
        self.refresh()


def _each_node(graph, apply):
    """Calls apply(graph, links, node) for each node that is still there."""
    links = _Links(graph)
    for node in list(graph.nodes):
        if node in graph.nodes:
            apply(graph, links, node)


def _remove_identities(graph, links, node):
    same_shape = node.inputs and graph.shapes.get(node.inputs[0]) == graph.shapes[node.output]
    if node.op in ("Identity", "Dropout") or (node.op in ("Reshape", "Flatten") and same_shape):
        links.replace([node], [], node.output, node.inputs[0])


def spatial_pads(graph, node):
    """Top, left, bottom, right of a Pad of zeros around the picture; None for any other node."""
    if node.op != "Pad":
        return None
    pads = graph.constants.get(node.inputs[1])
    value = graph.scalar(node.inputs[2]) if len(node.inputs) > 2 and node.inputs[2] else 0.0
    mode = node.attributes.get("mode", b"constant")
    is_spatial = pads is not None and len(pads) == 8 and not pads[[0, 1, 4, 5]].any()
    if not is_spatial or value != 0.0 or mode != b"constant" or pads.min() < 0:
        return None
    return pads[[2, 3, 6, 7]].tolist()


def padded_conv(graph, conv, pad, pads):
    """Returns the Conv that reads what the Pad reads."""
    own = conv.attributes.get("pads", [0, 0, 0, 0])
    attributes = {**conv.attributes, "pads": [a + b for a, b in zip(own, pads)]}
    return Node("Conv", [pad.inputs[0]] + conv.inputs[1:],
                [graph.tensor(graph.shapes[conv.output])], attributes)


def _fold_pads(graph, links, node):
    """A Pad whose only reader is a convolution."""
    pads = spatial_pads(graph, node)
    conv = links.sole_user(node.output, "Conv") if pads is not None else None
    if conv is not None:
        merged = padded_conv(graph, conv, node, pads)
        links.replace([node, conv], [merged], conv.output, merged.output)


def _fold_batch_norms(graph, links, node):
    """Into the convolution before it, else as a scale and a shift per channel."""
    if node.op != "BatchNormalization":
        return
    conv = links.producer(node.inputs[0], "Conv")
    channels = graph.shapes[node.inputs[0]][1]
    if conv is not None and links.sole_user(conv.output) is node:
        merged = Node("Conv", [conv.inputs[0], conv.inputs[1], graph.parameter((channels,))],
                      [graph.tensor(graph.shapes[node.output])], dict(conv.attributes))
        links.replace([conv, node], [merged], node.output, merged.output)
        return
    per_channel = (channels,) + (1,) * (len(graph.shapes[node.output]) - 2)
    shape = graph.shapes[node.output]
    scale = Node("Mul", [node.inputs[0], graph.parameter(per_channel)], [graph.tensor(shape)])
    shift = Node("Add", [scale.output, graph.parameter(per_channel)], [graph.tensor(shape)])
    links.replace([node], [scale, shift], node.output, shift.output)


def is_per_channel(graph, name, shape):
    """Whether the tensor is a constant with one element per channel of `shape` [N, C, ...]."""
    if not graph.is_constant(name) or len(shape) < 3:
        return False
    own = graph.shapes[name]
    padded = (1,) * (len(shape) - len(own)) + own
    return padded == (1, shape[1]) + (1,) * (len(shape) - 2)


def _fold_biases(graph, links, node):
    """A constant per channel, added to or multiplied with what a convolution wrote."""
    if node.op not in ("Add", "Mul"):
        return
    for value, other in (node.inputs, node.inputs[::-1]):
        conv = links.producer(value, "Conv")
        if conv is None or links.sole_user(value) is not node:
            continue
        if is_per_channel(graph, other, graph.shapes[value]):
            bias = [graph.parameter((graph.shapes[value][1],))]
            inputs = conv.inputs[:2] + (bias if node.op == "Add" else conv.inputs[2:])
            merged = Node("Conv", inputs, [graph.tensor(graph.shapes[value])],
                          dict(conv.attributes))
            links.replace([conv, node], [merged], node.output, merged.output)
            return


def _fold_gemm_biases(graph, links, node):
    """MatMul of two matrices and a constant row becomes a Gemm."""
    if node.op != "MatMul" or len(graph.shapes[node.output]) != 2:
        return
    add = links.sole_user(node.output, "Add")
    if add is None or not graph.is_constant(node.inputs[1]) or add.inputs[0] == add.inputs[1]:
        return
    row = add.inputs[1 if add.inputs[0] == node.output else 0]
    if graph.is_constant(row) and graph.shapes[row] == graph.shapes[node.output][1:]:
        gemm = Node("Gemm", node.inputs + [row], [graph.tensor(graph.shapes[node.output])])
        links.replace([node, add], [gemm], add.output, gemm.output)


def _other(node, name):
    return node.inputs[1] if node.inputs[0] == name else node.inputs[0]


def _is(graph, name, value):
    scalar = graph.scalar(name)
    return scalar is not None and abs(scalar - value) <= CLOSE * max(1.0, abs(value))


def _times_scalar(graph, links, name, value):
    """Returns x when the tensor is x * value (or x / (1 / value)), None else."""
    node = links.producer(name, "Mul", "Div")
    if node is None:
        return None
    if node.op == "Div":
        return node.inputs[0] if _is(graph, node.inputs[1], 1 / value) else None
    for x, scalar in (node.inputs, node.inputs[::-1]):
        if _is(graph, scalar, value):
            return x
    return None


def _replace_gelu(graph, links, inner, x, approximate):
    """`inner` is the erf or tanh of x: looks for 0.5 * x * (1 + inner) in any order."""
    add = links.sole_user(inner.output, "Add")
    if add is None or not _is(graph, _other(add, inner.output), 1.0):
        return
    value, wanted, old = add.output, {"x", "half"}, [inner, add]
    while wanted:
        product = links.sole_user(value, "Mul")
        if product is None:
            return
        other = _other(product, value)
        if "x" in wanted and other == x:
            wanted.remove("x")
        elif "half" in wanted and _is(graph, other, 0.5):
            wanted.remove("half")
        elif len(wanted) == 2 and _times_scalar(graph, links, other, 0.5) == x:
            wanted.clear()
        else:
            return
        old.append(product)
        value = product.output
    gelu = Node("Gelu", [x], [graph.tensor(graph.shapes[value])], {"approximate": approximate})
    links.replace(old, [gelu], value, gelu.output)


def _find_gelu_erf(graph, links, node):
    if node.op == "Erf":
        x = _times_scalar(graph, links, node.inputs[0], math.sqrt(0.5))
        if x is not None:
            _replace_gelu(graph, links, node, x, b"none")


def _find_gelu_tanh(graph, links, node):
    """tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))"""
    if node.op != "Tanh":
        return
    total = _times_scalar(graph, links, node.inputs[0], math.sqrt(2 / math.pi))
    add = links.producer(total, "Add") if total is not None else None
    if add is None:
        return
    for x, term in (add.inputs, add.inputs[::-1]):
        cube = _times_scalar(graph, links, term, 0.044715)
        if cube is not None and links.producer(cube, "Pow", "Mul") is not None:
            _replace_gelu(graph, links, node, x, b"tanh")
            return


def _find_swish(graph, links, node):
    if node.op != "Sigmoid":
        return
    product = links.sole_user(node.output, "Mul")
    if product is not None and _other(product, node.output) == node.inputs[0]:
        swish = Node("Swish", [node.inputs[0]], [graph.tensor(graph.shapes[product.output])])
        links.replace([node, product], [swish], product.output, swish.output)


def _find_layer_norm(graph, links, node):
    """(x - mean) / sqrt(mean((x - mean)^2) + epsilon) * scale + shift over the last axis."""
    if node.op != "Sub" or links.producer(node.inputs[1], "ReduceMean") is None:
        return
    x, centred = node.inputs[0], node.output
    if links.producer(node.inputs[1]).inputs[0] != x:
        return
    divisions = [user for user in links.read_by.get(centred, []) if user.op == "Div"]
    if len(divisions) != 1 or divisions[0].inputs[0] != centred:
        return
    root = links.producer(divisions[0].inputs[1], "Sqrt")
    epsilon_add = links.producer(root.inputs[0], "Add") if root else None
    if epsilon_add is None:
        return
    epsilon = next((graph.scalar(name) for name in epsilon_add.inputs
                    if graph.scalar(name) is not None), None)
    scale = links.sole_user(divisions[0].output, "Mul")
    shift = links.sole_user(scale.output, "Add") if scale else None
    if epsilon is None or shift is None:
        return
    norm = Node("LayerNormalization",
                [x, _other(scale, divisions[0].output), _other(shift, scale.output)],
                [graph.tensor(graph.shapes[x])], {"axis": -1, "epsilon": epsilon})
    links.replace([shift], [norm], shift.output, norm.output)


def _unscaled(graph, links, name):
    """Returns (tensor, scale): what the tensor is a multiple of."""
    node = links.producer(name, "Mul", "Div")
    if node is None:
        return name, 1.0
    for index in (1, 0):
        scalar = graph.scalar(node.inputs[index])
        if scalar and node.op == "Mul":
            return node.inputs[1 - index], scalar
        if scalar and index == 1:
            return node.inputs[0], 1 / scalar
    return name, 1.0


def _find_attention(graph, links, node):
    """softmax(scale * q k^T + mask) v over four axes, the scale on either side of the product."""
    if node.op != "Softmax" or len(graph.shapes[node.output]) != 4:
        return
    mix = links.sole_user(node.output, "MatMul")
    if mix is None or mix.inputs[0] != node.output:
        return
    name, mask = node.inputs[0], None
    scores, scale = _unscaled(graph, links, name)
    add = links.producer(name, "Add")
    if add is not None:
        for side, other in (add.inputs, add.inputs[::-1]):
            inner, factor = _unscaled(graph, links, side)
            if links.producer(inner, "MatMul") is not None:
                scores, scale, mask = inner, factor, other
                break
    product = links.producer(scores, "MatMul")
    if product is None or any(graph.is_constant(name) for name in product.inputs):
        return
    query, query_scale = _unscaled(graph, links, product.inputs[0])
    key, key_scale = _unscaled(graph, links, product.inputs[1])
    batch, heads, keys = *graph.shapes[key][:2], graph.shapes[key][3]
    transposed, extra = _untransposed_key(graph, links, key, (batch, heads, keys))
    inputs = [query, transposed, mix.inputs[1]] + ([mask] if mask is not None else [])
    attention = Node("Attention", inputs, [graph.tensor(graph.shapes[mix.output])],
                     {"scale": float(np.float32(scale * query_scale * key_scale))})
    links.replace([mix], extra + [attention], mix.output, attention.output)


def _untransposed_key(graph, links, key, sizes):
    """Returns the key as [batch, heads, keys, size], and the Transpose that makes it, if any."""
    shape = (*sizes, graph.shapes[key][2])
    transpose = links.producer(key, "Transpose")
    if transpose is not None:
        order = list(transpose.attributes["perm"])
        order[2], order[3] = order[3], order[2]
        if order == [0, 1, 2, 3]:
            return transpose.inputs[0], []
        node = Node("Transpose", [transpose.inputs[0]], [graph.tensor(shape)], {"perm": order})
        return node.output, [node]
    # Through a reshape the exchange is one of other axes; what it costs is the same.
    node = Node("Transpose", [key], [graph.tensor(shape)], {"perm": [0, 1, 3, 2]})
    return node.output, [node]
