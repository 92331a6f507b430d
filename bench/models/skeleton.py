#!/usr/bin/env python3
"""Turns a model into a small file without parameters, and that file into a runnable model again.

    skeleton.py strip MODEL.onnx OUT.skeleton
    skeleton.py restore IN.skeleton OUT.onnx

Every float tensor over 1 KiB is replaced by a recipe of a few numbers: seed, distribution, mean
and deviation. Integer tensors and tables of few values are kept exactly. Restoring draws new
parameters from the recipes, the same bytes on every machine, so that tests can use real
architectures without the frameworks that exported them. Needs the packages onnx and numpy.
"""

import argparse
import json
import lzma
import math
import pathlib
import struct
import sys

import numpy as np
import onnx
from google.protobuf.message import DecodeError
from onnx import TensorProto, numpy_helper

import draws

MAGIC = b"plait-skeleton-1\n"

# Smaller tensors are epsilons, axes, shapes and biases: exact ones cost little.
KEPT_BYTES_MAX = 1024

# A float tensor with no more values than this is a mask or a table, not a parameter.
TABLE_VALUES_MAX = 16

DRAWN_TYPES = {
    TensorProto.FLOAT: np.dtype("<f4"),
    TensorProto.DOUBLE: np.dtype("<f8"),
    TensorProto.FLOAT16: np.dtype("<f2"),
}


class SkeletonError(Exception):
    """A file that is no skeleton, or a model that cannot become one."""


def tensors_of(graph):
    """Yields every tensor of the graph and its subgraphs in the order of the file.

    Strip and restore walk the same way, so that a recipe finds its tensor by position.
    """
    yield from graph.initializer
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.TENSOR:
                yield attribute.t
            for subgraph in (attribute.g, *attribute.graphs):
                if subgraph.node or subgraph.initializer:
                    yield from tensors_of(subgraph)


def is_drawn(tensor, values):
    """Returns whether the tensor is a parameter that a recipe can stand for."""
    if values.nbytes <= KEPT_BYTES_MAX or not np.isfinite(values).all():
        return False
    return len(np.unique(values[:4096])) > TABLE_VALUES_MAX \
        or len(np.unique(values)) > TABLE_VALUES_MAX


def gain_of(graph):
    """Returns the factor by which convolutions must raise the energy of activations.

    Two makes up for a relu. Gates and SiLU, both made of Sigmoid, take away about twice as much.
    """
    gated = any(node.op_type in ("Sigmoid", "HardSigmoid") for node in graph.node)
    return 4.0 if gated else 2.0


def recipe_of(values, dims, gain, seed):
    """Returns the recipe of a parameter; statistics are rounded to float32, what restore uses.

    A drawn bias no longer cancels the mean that the drawn weights of a folded BatchNorm produce,
    so that deep networks would explode. Convolution weights (rank 4) are therefore held at the
    deviation sqrt(gain / fan in), which carries the size of activations through a layer.
    """
    mean = float(np.float32(values.mean(dtype=np.float64)))
    deviation = float(np.float32(values.std(dtype=np.float64)))
    if len(dims) == 4:
        steady = math.sqrt(gain / math.prod(dims[1:]))
        deviation = float(np.float32(min(deviation, steady)))
    if values.min() > 0:
        # Variances and scales: drawn evenly around the mean and held well above zero.
        deviation = float(np.float32(min(deviation, mean / 2)))
        return {"seed": str(seed), "distribution": "uniform", "mean": mean, "deviation": deviation}
    return {"seed": str(seed), "distribution": "normal", "mean": mean, "deviation": deviation}


def draw(recipe, count):
    """Returns `count` float32 numbers for a recipe."""
    seed, mean, deviation = int(recipe["seed"]), recipe["mean"], recipe["deviation"]
    if recipe["distribution"] == "normal":
        return draws.normal(seed, count, mean, deviation)
    if recipe["distribution"] == "uniform":
        # A uniform distribution of deviation d reaches d * sqrt(3) to both sides.
        reach = np.float32(deviation) * np.float32(1.7320508)
        return draws.uniform(seed, count, np.float32(mean) - reach, np.float32(mean) + reach)
    raise SkeletonError(f"unknown distribution {recipe['distribution']!r}")


def strip(model, name):
    """Empties the parameters of `model` in place and returns their recipes by tensor position.

    Errors: a parameter kept in an external file.
    """
    recipes = {}
    gain = gain_of(model.graph)
    for position, tensor in enumerate(tensors_of(model.graph)):
        if tensor.data_location == TensorProto.EXTERNAL:
            raise SkeletonError(f"{tensor.name}: its data is in another file; load it first")
        if tensor.data_type not in DRAWN_TYPES:
            continue
        values = numpy_helper.to_array(tensor).reshape(-1)
        if is_drawn(tensor, values):
            recipes[position] = recipe_of(
                values, tensor.dims, gain, draws.seed_of(name, position))
            for field in ("raw_data", "float_data", "double_data", "int32_data"):
                tensor.ClearField(field)
    return recipes


def restore(model, recipes):
    """Fills the emptied tensors of `model` in place, and nothing else."""
    filled = 0
    for position, tensor in enumerate(tensors_of(model.graph)):
        recipe = recipes.get(position)
        if recipe is None:
            continue
        count = int(np.prod(tensor.dims, dtype=np.int64))
        values = draw(recipe, count).astype(DRAWN_TYPES[tensor.data_type])
        tensor.raw_data = values.tobytes()
        filled += 1
    if filled != len(recipes):
        raise SkeletonError(f"{len(recipes)} recipes for {filled} tensors")


def write_skeleton(model, recipes, path):
    """Writes magic, then one compressed block: length of the JSON, JSON, model without data."""
    header = json.dumps({str(key): value for key, value in recipes.items()}, sort_keys=True)
    body = struct.pack("<Q", len(header)) + header.encode()
    body += model.SerializeToString(deterministic=True)
    path.write_bytes(MAGIC + lzma.compress(body, preset=9 | lzma.PRESET_EXTREME))


def read_skeleton(path):
    """Returns (model without data, recipes by position)."""
    data = path.read_bytes()
    if not data.startswith(MAGIC):
        raise SkeletonError(f"{path}: not a skeleton (it does not begin with {MAGIC!r})")
    try:
        body = lzma.decompress(data[len(MAGIC):])
        (size,) = struct.unpack_from("<Q", body)
        header = json.loads(body[8 : 8 + size])
        model = onnx.load_from_string(body[8 + size :])
    except (lzma.LZMAError, struct.error, ValueError, DecodeError) as error:
        raise SkeletonError(f"{path}: damaged: {error}") from error
    return model, {int(key): value for key, value in header.items()}


def strip_file(source, target):
    """Strips `source` into `target`; seeds follow from the name of `target`."""
    try:
        model = onnx.load(str(source))
    except DecodeError as error:
        raise SkeletonError(f"{source}: not an ONNX model: {error}") from error
    recipes = strip(model, target.stem)
    write_skeleton(model, recipes, target)
    return len(recipes)


def restore_file(source, target):
    """Restores `source` into `target`."""
    model, recipes = read_skeleton(source)
    restore(model, recipes)
    target.write_bytes(model.SerializeToString(deterministic=True))
    return len(recipes)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0], formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("verb", choices=["strip", "restore"])
    parser.add_argument("source", type=pathlib.Path, help="MODEL.onnx or IN.skeleton")
    parser.add_argument("target", type=pathlib.Path, help="OUT.skeleton or OUT.onnx")
    arguments = parser.parse_args()
    action = strip_file if arguments.verb == "strip" else restore_file
    try:
        arguments.target.parent.mkdir(parents=True, exist_ok=True)
        count = action(arguments.source, arguments.target)
    except (SkeletonError, OSError) as error:
        print(f"skeleton.py: {error}", file=sys.stderr)
        return 1
    print(f"{arguments.target}: {count} parameters, {arguments.target.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
