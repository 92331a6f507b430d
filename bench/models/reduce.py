#!/usr/bin/env python3
"""Writes a smaller version of a model: `reduce.py MODEL.onnx OUT.onnx [--image N] [--share F]`.

--image N: every image that the model reads becomes N pixels high and wide. For networks that end
in a pooling over all pixels; others are refused by ONNX's shape inference.
--share F: only what the first value of floats needs before which lies that share of the nodes: of a
network of equal layers the first ones. That value is the output.

Parameters stay what they are, those that nothing reads go. The same call writes the same bytes.
Exit codes: 0 written, 1 the model does not take it, 2 usage.
"""

import argparse
import pathlib
import sys

import onnx
from onnx import TensorProto, helper, shape_inference


class NotReducible(Exception):
    """The model has no smaller version of that kind."""


def with_image(model, size):
    """Changes height and width of each input of rank 4."""
    parameters = {tensor.name for tensor in model.graph.initializer}
    changed = 0
    for value in model.graph.input:
        dimensions = value.type.tensor_type.shape.dim
        if value.name in parameters or len(dimensions) != 4:
            continue
        # The channels are the small size: behind the batch, or at the end.
        first = 1 if dimensions[3].dim_value <= 4 else 2
        for dimension in dimensions[first:first + 2]:
            dimension.dim_value = size
        changed += 1
    if changed == 0:
        raise NotReducible("it reads no image")
    for value in model.graph.output:
        value.type.tensor_type.ClearField("shape")
    del model.graph.value_info[:]
    return shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)


def needed_by(graph, output):
    """The indices of the nodes that the value depends on."""
    producers = {name: index for index, node in enumerate(graph.node) for name in node.output}
    needed, left = set(), [output]
    while left:
        index = producers.get(left.pop())
        if index is not None and index not in needed:
            needed.add(index)
            left.extend(graph.node[index].input)
    return needed


def with_share(model, share):
    """Keeps what the first value behind that share of the nodes needs."""
    graph = shape_inference.infer_shapes(model, data_prop=True).graph
    types = {value.name: value.type.tensor_type for value in graph.value_info}
    for node in graph.node:
        output = node.output[0]
        kind = types.get(output)
        if kind is None or kind.elem_type != TensorProto.FLOAT or len(kind.shape.dim) < 3:
            continue
        needed = needed_by(graph, output)
        if len(needed) >= share * len(graph.node):
            break
    else:
        raise NotReducible("no value of floats stands behind that share")
    nodes = [node for index, node in enumerate(graph.node) if index in needed]
    read = {name for node in nodes for name in node.input}
    reduced = helper.make_graph(
        nodes, graph.name, [value for value in graph.input if value.name in read],
        [value for value in graph.value_info if value.name == output],
        [tensor for tensor in graph.initializer if tensor.name in read])
    written = helper.make_model(reduced, opset_imports=model.opset_import)
    written.ir_version = model.ir_version
    return written


def reduced(model, image=0, share=1.0):
    """The smaller version; the model may be changed."""
    if image:
        model = with_image(model, image)
    if share < 1:
        model = with_share(model, share)
    return model


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--image", type=int, default=0)
    parser.add_argument("--share", type=float, default=1.0)
    arguments = parser.parse_args()
    try:
        model = reduced(onnx.load(str(arguments.model)), arguments.image, arguments.share)
        arguments.out.write_bytes(model.SerializeToString(deterministic=True))
    except (NotReducible, shape_inference.InferenceError) as error:
        print(f"reduce.py: {arguments.model}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
