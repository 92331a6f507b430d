#!/usr/bin/env python3
"""Writes the light models: small, seeded, deterministic ONNX files for tests and demonstrations.

Needs the packages onnx and numpy and nothing else. The same call writes the same bytes on every
machine. No parameter is zero or constant, so that a wrong rewrite cannot hide behind dead values.
"""

import argparse
import pathlib
import sys

import onnx

import light_sequence
import light_vision

MODELS = {
    "tiny_resnet": light_vision.tiny_resnet,
    "tiny_inception": light_vision.tiny_inception,
    "tiny_nasnet": light_vision.tiny_nasnet,
    "tiny_bert": light_sequence.tiny_bert,
    "tiny_gpt": light_sequence.tiny_gpt,
    "tiny_mobilenet": light_vision.tiny_mobilenet,
    "tiny_sru": light_sequence.tiny_sru,
    "tiny_densenet": light_vision.tiny_densenet,
    "tiny_dynamic": light_sequence.tiny_dynamic,
    "demo": light_vision.demo,
}


def build(name, seed=0):
    """Returns the checked ModelProto of that name."""
    model = MODELS[name](seed)
    onnx.checker.check_model(model, full_check=True)
    return model


def write(name, folder, seed=0):
    """Writes FOLDER/NAME.onnx and returns its path."""
    path = pathlib.Path(folder) / f"{name}.onnx"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(build(name, seed).SerializeToString(deterministic=True))
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help=f"models to write (all): {', '.join(MODELS)}")
    parser.add_argument("--out", required=True, help="folder for the .onnx files")
    parser.add_argument("--seed", type=int, default=0, help="seed of the parameters (0)")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.names if name not in MODELS]
    if unknown:
        parser.error(f"unknown model {unknown[0]!r}; there are {', '.join(MODELS)}")
    for name in arguments.names or MODELS:
        path = write(name, arguments.out, arguments.seed)
        print(f"{path}  {path.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
