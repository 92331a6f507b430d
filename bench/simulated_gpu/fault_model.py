#!/usr/bin/env python3
"""Writes a model whose job calls what other small models' jobs do not, for faults.py.

    python bench/simulated_gpu/fault_model.py build/tiny/fault_model.onnx

It is a join of more operations than plait gives edges to (cuGraphAddEmptyNode), of convolutions
that write where the concatenations behind them want it; a view of an input that is an output, which
is copied (cuMemcpyDtoDAsync and the nodes of copies); and products with a batch, over a depth that
is worth splitting (the layouts' attributes and the algorithms' configuration in cuBLASLt). A
recurrence would call nothing more: tiny_sru's job does not.
"""

import argparse
import pathlib

import numpy as np
from onnx import TensorProto, helper, numpy_helper

BRANCHES = 6
CHANNELS = 16
SIDE = 8


class Builder:
    """Nodes and weights of a model, as they are added."""

    def __init__(self):
        self.random = np.random.default_rng(1)
        self.nodes = []
        self.weights = []

    def add(self, operator, inputs, output, **attributes):
        self.nodes.append(helper.make_node(operator, inputs, [output], **attributes))
        return output

    def convolve(self, value, output, channels, side=1):
        """A convolution of `channels` (from, to) with a window of this side, and its Relu."""
        shape = [channels[1], channels[0], side, side]
        self.weights.append(numpy_helper.from_array(
            self.random.normal(0, 0.1, shape).astype(np.float32), f"{output}_weights"))
        self.add("Conv", [value, f"{output}_weights"], f"{output}_sum", pads=[side // 2] * 4)
        return self.add("Relu", [f"{output}_sum"], output)


def add_join(builder):
    """Two concatenations, the second of the first and as many branches more."""
    same = (CHANNELS, CHANNELS)
    trunk = builder.convolve("image", "trunk", (CHANNELS, CHANNELS), side=3)
    near = [builder.convolve(trunk, f"near_{i}", same) for i in range(BRANCHES)]
    builder.add("Concat", near, "first", axis=1)
    far = [builder.convolve(builder.convolve(value, f"middle_{i}", same), f"far_{i}", same)
           for i, value in enumerate(near)]
    builder.add("Concat", ["first", *far], "second", axis=1)
    builder.convolve("first", "narrow", (BRANCHES * CHANNELS, 8))
    builder.convolve("second", "wide", (2 * BRANCHES * CHANNELS, 8))


def fault_model():
    builder = Builder()
    add_join(builder)
    builder.weights.append(numpy_helper.from_array(np.array([-1], np.int64), "flat_shape"))
    builder.add("Reshape", ["rows", "flat_shape"], "flat")
    builder.add("MatMul", ["rows", "columns"], "products")

    def values(shapes):
        return [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
                for name, shape in shapes.items()]

    graph = helper.make_graph(
        builder.nodes, "fault_model",
        values({"image": [1, CHANNELS, SIDE, SIDE], "rows": [2, 16, 256],
                "columns": [2, 256, 16]}),
        values({"narrow": [1, 8, SIDE, SIDE], "wide": [1, 8, SIDE, SIDE], "flat": [2 * 16 * 256],
                "products": [2, 16, 16]}), builder.weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    return model


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=pathlib.Path)
    arguments = parser.parse_args()
    arguments.file.write_bytes(fault_model().SerializeToString(deterministic=True))


if __name__ == "__main__":
    main()
