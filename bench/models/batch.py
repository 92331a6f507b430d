#!/usr/bin/env python3
"""Writes a model for another batch: `batch.py MODEL.onnx N OUT.onnx`.

Exported models often have their batch of 1 written into inputs and into the shapes that Reshape and
Expand go to. Here the first dimension of every input becomes N, and so does a leading 1 in the
shapes by which values that depend on an input are reshaped. The result is run in ONNX Runtime: its
outputs must be those of N runs of the model, one for each part of the batch.

Exit codes: 0 written, 1 the model does not take a batch that way, 2 usage.
"""

import argparse
import pathlib
import sys

import numpy as np
import onnx
from onnx import numpy_helper

import sample_inputs

TOLERANCE = 1e-4


class NoBatch(Exception):
    """The model's outputs at another batch are not those of its parts."""


def with_batch(model, batch):
    """Changes a ModelProto with a batch of 1 to the batch given."""
    graph = model.graph
    parameters = {tensor.name: tensor for tensor in graph.initializer}
    inputs = [value for value in graph.input if value.name not in parameters]
    for value in inputs:
        dimensions = value.type.tensor_type.shape.dim
        if not dimensions or dimensions[0].dim_value not in (0, 1):
            raise NoBatch(f"input {value.name}: its first dimension is not 1")
        dimensions[0].dim_value = batch
    for value in graph.output:
        # Inferred again: the first dimension need not be the batch alone.
        value.type.tensor_type.ClearField("shape")
    del graph.value_info[:]
    _reshape_with_batch(graph, parameters, {value.name for value in inputs}, batch)
    return model


def _reshape_with_batch(graph, parameters, dependent, batch):
    constants = {node.output[0]: node.attribute[0].t for node in graph.node
                 if node.op_type == "Constant" and node.attribute[0].name == "value"}
    for node in graph.node:
        if not dependent.intersection(node.input):
            continue
        dependent.update(node.output)
        if node.op_type not in ("Reshape", "Expand") or node.input[0] not in dependent:
            continue
        shape = parameters.get(node.input[1]) or constants.get(node.input[1])
        values = None if shape is None else numpy_helper.to_array(shape).copy()
        if values is None or values.size == 0 or values[0] != 1:
            continue
        values[0] = batch
        # A constant of its own: another reader of the shape may mean a 1 that is no batch.
        name = f"{node.output[0]}.batch_shape"
        graph.initializer.append(numpy_helper.from_array(values, name))
        node.input[1] = name


def outputs_of(path, feeds):
    """All outputs of the model, as ONNX Runtime computes them."""
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def check(original, written, batch):
    """Raises NoBatch unless each part of the batch has the outputs that it has alone."""
    feeds = sample_inputs.model_inputs(onnx.load(str(written), load_external_data=False), 1)
    whole = outputs_of(written, feeds)
    for part in range(batch):
        alone = outputs_of(original, {name: array[part:part + 1] for name, array in feeds.items()})
        for expected, actual in zip(alone, whole):
            actual = actual.reshape(batch, -1)[part].reshape(expected.shape)
            if np.abs(expected - actual).max() > TOLERANCE * np.abs(expected).max():
                raise NoBatch(f"part {part} of the batch has other outputs than alone")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("batch", type=int)
    parser.add_argument("out", type=pathlib.Path)
    arguments = parser.parse_args()
    if arguments.batch < 1:
        parser.error("the batch must be positive")
    try:
        onnx.save(with_batch(onnx.load(str(arguments.model)), arguments.batch), str(arguments.out))
        check(arguments.model, arguments.out, arguments.batch)
    # ONNX Runtime raises whatever it likes for shapes that do not fit.
    except Exception as error:  # pylint: disable=broad-except
        arguments.out.unlink(missing_ok=True)
        print(f"batch.py: {arguments.model}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
