"""The kernels that merging siblings creates: convolutions and matrix products with one input."""

import itertools

import numpy as np

from folding import padded_conv, spatial_pads
from kernel_forms import (Kernel, conv_fields, gemm_fields, has_bias, is_column_bias, is_pointwise,
                          merged_conv, sole_user)
from kernel_movement import movement_kernels, pool_kernels
from model_graph import Node

# Every subset of up to four siblings is tried; of more only the pairs and all together.
SUBSET_SIBLINGS_MAX = 4


def merge_kernels(graph, links):
    """Yields the merged kernels of the whole graph, and the splits behind them."""
    for name, users in links["users"].items():
        convs = [node for node in dict.fromkeys(users)
                 if node.op == "Conv" and node.inputs[0] == name and _is_mergeable(graph, node)]
        yield from _conv_merges(graph, links, convs)
        yield from _padded_kernels(graph, links, users)
        commuted = _commuted_pools(graph, links, users)
        for pool, conv in commuted:
            yield from _commuted_kernels(graph, links, pool, conv, convs)
        products = [node for node in dict.fromkeys(users)
                    if node.op == "MatMul" and node.inputs[0] == name]
        yield from _gemm_merges(graph, links, products)


def _padded_kernels(graph, links, users):
    """Convolutions that take over the padding of a Pad that others read too."""
    for pad in users:
        pads = spatial_pads(graph, pad)
        readers = links["users"].get(pad.output, []) if pads is not None else []
        for conv in readers if len(readers) > 1 else []:
            if conv.op == "Conv":
                merged = padded_conv(graph, conv, pad, pads)
                problem = {"problem": "conv", **conv_fields(graph, merged)}
                yield Kernel("conv", problem, [merged], [merged.output], "rewrite")


def _is_mergeable(graph, node):
    fields = conv_fields(graph, node)
    return fields is not None and fields["groups"] == 1 and fields["dilation"] == [1, 1]


def _subsets(items):
    if len(items) <= SUBSET_SIBLINGS_MAX:
        for size in range(2, len(items) + 1):
            yield from itertools.combinations(items, size)
        return
    yield from itertools.combinations(items, 2)
    yield tuple(items)


def _has_relu(graph, links, node):
    user = sole_user(graph, links, node.output)
    return user is not None and user.op == "Relu"


def _conv_merges(graph, links, convs):
    """Siblings with equal kernels by concatenation, with others by padding to a common kernel."""
    by_step = {}
    for node in convs:
        key = (tuple(node.attributes.get("strides", [1, 1])), graph.shapes[node.output][2:])
        by_step.setdefault(key, []).append(node)
    for siblings in by_step.values():
        for subset in _subsets(siblings):
            yield from _merged(graph, links, subset)


def _merged(graph, links, convs):
    """The one convolution that computes all of `convs`, alone and with a relu all of them share."""
    fields = [conv_fields(graph, node) for node in convs]
    kernel, pads = _overlay(fields)
    conv = merged_conv(graph, convs[0], sum(f["k"] for f in fields), kernel, pads,
                       any(has_bias(node) for node in convs))
    if graph.shapes[conv.output][2:] != graph.shapes[convs[0].output][2:]:
        return
    problem = {"problem": "conv", **conv_fields(graph, conv)}
    yield Kernel("conv", problem, [conv], [conv.output], "rewrite")
    last = conv.output
    if all(_has_relu(graph, links, node) for node in convs):
        relu = Node("Relu", [last], [graph.tensor(graph.shapes[last])])
        last = relu.output
        yield Kernel("conv", {**problem, "activation": "relu"}, [conv, relu], [last], "rewrite")
    yield from _split_kernels(graph, last, [f["k"] for f in fields], 1)


def _overlay(fields):
    """Kernel size and padding of convolutions laid over each other (merge_convs_by_padding.cc)."""
    kernel, pads = [], [0, 0, 0, 0]
    for axis, size in enumerate("rs"):
        begin = max(f["pad"][axis] for f in fields)
        total = begin + max(f[size] - f["pad"][axis] for f in fields)
        kernel.append(total)
        pads[axis] = begin
        pads[axis + 2] = max(f["pad"][axis + 2] + total - f[size] - (begin - f["pad"][axis])
                             for f in fields)
    return kernel, pads


def _split_kernels(graph, name, sizes, axis):
    shape = graph.shapes[name]
    outputs = [graph.tensor(shape[:axis] + (size,) + shape[axis + 1:]) for size in sizes]
    split = Node("Split", [name, graph.constant(np.array(sizes, dtype=np.int64))], outputs,
                 {"axis": axis})
    for kernel in movement_kernels(graph, split):
        kernel.origin = "rewrite"
        yield kernel


def _commuted_pools(graph, links, users):
    """Average pools whose only reader is a pointwise convolution: the two commute."""
    pairs = []
    for pool in users:
        if pool.op != "AveragePool":
            continue
        conv = sole_user(graph, links, pool.output)
        if conv is not None and conv.op == "Conv" and is_pointwise(graph, conv):
            pairs.append((pool, conv))
    return pairs


def _commuted_kernels(graph, links, pool, conv, convs):
    """The convolution in front of the pool, alone and merged with its new siblings."""
    name, channels = pool.inputs[0], graph.shapes[conv.output][1]
    moved = Node("Conv", [name] + conv.inputs[1:],
                 [graph.tensor(graph.shapes[name][:1] + (channels,) + graph.shapes[name][2:])],
                 dict(conv.attributes))
    problem = {"problem": "conv", **conv_fields(graph, moved)}
    yield Kernel("conv", problem, [moved], [moved.output], "rewrite")
    small = Node(pool.op, [moved.output], [graph.tensor(graph.shapes[conv.output])],
                 dict(pool.attributes))
    for kernel in pool_kernels(graph, small):
        kernel.origin = "rewrite"
        yield kernel
    siblings = [node for node in convs if is_pointwise(graph, node)]
    for subset in _subsets(siblings + [moved]):
        if moved in subset:
            yield from _merged(graph, links, subset)


def _gemm_merges(graph, links, products):
    """Products of one matrix with several weights, as Q, K and V are."""
    products = [node for node in products if gemm_fields(graph, node) is not None
                and graph.is_constant(node.inputs[1])]
    for subset in _subsets(products):
        yield from _merged_products(graph, links, subset)


def _bias_add(graph, links, node):
    """The Add of a constant row behind the product, or None."""
    add = sole_user(graph, links, node.output)
    if add is None or add.op != "Add":
        return None
    row = add.inputs[1 if add.inputs[0] == node.output else 0]
    return add if is_column_bias(graph, row, node.output) else None


def _merged_products(graph, links, products):
    sizes = [graph.shapes[node.output][-1] for node in products]
    shape = graph.shapes[products[0].output][:-1] + (sum(sizes),)
    weights = (graph.shapes[products[0].inputs[1]][0], sum(sizes))
    product = Node("MatMul", [products[0].inputs[0], graph.parameter(weights)],
                   [graph.tensor(shape)])
    problem = {"problem": "gemm", **gemm_fields(graph, product)}
    yield Kernel("matmul", problem, [product], [product.output], "rewrite")
    last = product.output
    if all(_bias_add(graph, links, node) is not None for node in products):
        add = Node("Add", [last, graph.parameter((sum(sizes),))], [graph.tensor(shape)])
        last = add.output
        yield Kernel("matmul", {**problem, "bias": True}, [product, add], [last], "rewrite")
    yield from _split_kernels(graph, last, sizes, len(shape) - 1)
