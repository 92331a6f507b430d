"""Exports keras.applications architectures; runs inside the Keras environment.

Started by export.py, which makes that environment. Nothing is downloaded: architectures come from
the package, parameters from a seed.
"""

import os

# Before the import: TensorFlow reads these once, and prints pages of advice without them.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import argparse
import pathlib
import sys

import keras
import numpy as np
import tensorflow as tf
import tf2onnx

import export_common

OPSET = 17

# Builder and the side of the square image it is made for.
MODELS = {
    "nasnet_large": (keras.applications.NASNetLarge, 331),
    "nasnet_mobile": (keras.applications.NASNetMobile, 224),
}


def redraw_constants(model, generator):
    """Replaces every constant parameter, since zeros and ones would make outputs dead.

    Scales and variances are born as ones and stay positive.
    """
    for variable in model.variables:
        values = np.asarray(variable)
        if values.dtype.kind != "f" or values.size < 2 or values.min() != values.max():
            continue
        if values.flat[0] == 1:
            drawn = generator.uniform(0.5, 1.5, values.shape)
        else:
            drawn = values.flat[0] + generator.normal(0.0, 0.1, values.shape)
        variable.assign(drawn.astype(values.dtype))


def settle_batch_norms(model, side, generator):
    """Sets running statistics to those of one random batch, so that activations stay in range."""
    for layer in model.layers:
        if isinstance(layer, keras.layers.BatchNormalization):
            layer.momentum = 0.0
    batch = generator.uniform(-1.0, 1.0, (2, side, side, 3)).astype(np.float32)
    model(batch, training=True)


def to_onnx(model, side):
    """Returns the ModelProto: batch 1, channels first at the input, as most runtimes want it."""
    signature = tf.TensorSpec([1, side, side, 3], tf.float32, name="x")

    @tf.function(input_signature=[signature])
    def predict(x):
        return {"output": model(x, training=False)}

    proto, _ = tf2onnx.convert.from_function(
        predict, input_signature=[signature], opset=OPSET, inputs_as_nchw=["x"])
    return proto


def export(name, seed, folder):
    """Builds one model, re-draws what would be dead, and writes it."""
    build, side = MODELS[name]
    keras.utils.set_random_seed(seed)
    generator = np.random.default_rng(seed)
    model = build(weights=None, input_shape=(side, side, 3))
    redraw_constants(model, generator)
    settle_batch_norms(model, side, generator)
    export_common.finish(to_onnx(model, side), pathlib.Path(folder) / f"{name}.onnx")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="+", choices=sorted(MODELS), metavar="NAME")
    parser.add_argument("--out", required=True, help="folder for the .onnx files")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    for name in arguments.names:
        export(name, arguments.seed, arguments.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
