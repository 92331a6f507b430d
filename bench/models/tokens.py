#!/usr/bin/env python3
"""Writes a model of a text for another length: `tokens.py MODEL.onnx N OUT.onnx`.

Exported models often have the length of their text written into inputs, into the shapes that
Reshape and Expand go to, and into the positions 0, 1, 2... and the one kind of token that they look
up or compare. Here each of these gets the new length. Both are run in ONNX Runtime: where the
longer text is masked beyond the shorter one, the outputs must be the same.

Exit codes: 0 written, 1 the model does not take another length that way, 2 usage.
"""

import argparse
import pathlib
import sys

import numpy as np
import onnx
from onnx import numpy_helper

import batch
import sample_inputs

TOLERANCE = 1e-4


class NoLength(Exception):
    """The model's outputs at another length are not those at its own."""


def length_of(model):
    """The length of the text that a ModelProto reads, whose inputs are all [batch, length]."""
    parameters = {tensor.name for tensor in model.graph.initializer}
    shapes = [[dimension.dim_value for dimension in value.type.tensor_type.shape.dim]
              for value in model.graph.input if value.name not in parameters]
    lengths = {shape[-1] if len(shape) == 2 else 0 for shape in shapes}
    if len(lengths) != 1 or lengths == {0}:
        raise NoLength("its inputs are not [batch, length], all of one length")
    return lengths.pop()


def with_tokens(model, tokens):
    """Changes a ModelProto to the length given."""
    before = length_of(model)
    for value in (*model.graph.input, *model.graph.output):
        for dimension in value.type.tensor_type.shape.dim:
            if dimension.dim_value == before:
                dimension.dim_value = tokens
    del model.graph.value_info[:]
    constants = [node.attribute[0].t for node in model.graph.node
                 if node.op_type == "Constant" and node.attribute[0].name == "value"]
    for tensor in (*model.graph.initializer, *constants):
        if tensor.data_type == onnx.TensorProto.INT64:
            changed = _at_length(numpy_helper.to_array(tensor), before, tokens)
            tensor.CopyFrom(numpy_helper.from_array(changed, tensor.name))
    return model


def _at_length(values, before, tokens):
    """Positions go on to the new length, and what is the same for all of a text stays so; where
    else the length is, it is a size."""
    shape = [tokens if size == before else size for size in values.shape]
    if values.size == before and np.array_equal(values.ravel(), np.arange(before)):
        return np.arange(tokens, dtype=values.dtype).reshape(shape)
    if before in values.shape and len(np.unique(values)) == 1:
        return np.full(shape, values.flat[0])
    return np.where(values == before, tokens, values)


def check(shorter, longer):
    """Raises NoLength unless both say the same of a text that the longer one has a mask behind."""
    model = onnx.load(str(longer), load_external_data=False)
    tokens = length_of(onnx.load(str(shorter), load_external_data=False))
    feeds = sample_inputs.model_inputs(model, 1)
    # A causal model has no mask, and looks at nothing behind.
    if "attention_mask" in feeds:
        feeds["attention_mask"][:, tokens:] = 0
    alone = {name: array[:, :tokens] for name, array in feeds.items()}
    pairs = zip(batch.outputs_of(shorter, alone), batch.outputs_of(longer, feeds))
    for expected, actual in pairs:
        actual = actual[:, :expected.shape[1]]
        if np.abs(expected - actual).max() > TOLERANCE * np.abs(expected).max():
            raise NoLength(f"{length_of(model)} tokens have other outputs than {tokens}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("tokens", type=int)
    parser.add_argument("out", type=pathlib.Path)
    arguments = parser.parse_args()
    if arguments.tokens < 1:
        parser.error("the length must be positive")
    try:
        model = onnx.load(str(arguments.model))
        before = length_of(model)
        onnx.save(with_tokens(model, arguments.tokens), str(arguments.out))
        files = [arguments.model, arguments.out]
        check(*(files if before <= arguments.tokens else reversed(files)))
    # ONNX Runtime raises whatever it likes for shapes that do not fit.
    except Exception as error:  # pylint: disable=broad-except
        arguments.out.unlink(missing_ok=True)
        print(f"tokens.py: {arguments.model}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
