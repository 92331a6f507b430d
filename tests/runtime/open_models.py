"""Models with two or three open dimensions, in which sizes are computed at run time."""

import models  # noqa: F401 (finds the folder of the next two)

import light_sequence
from builder import ModelBuilder


def sequences(hidden=32, heads=4):
    """Attention over sequences of any length, a padded convolution along them, and a mean."""
    b = ModelBuilder("open_sequences", 17)
    x = b.input("input", ["batch", "length", hidden])
    depth = hidden // heads
    query, key, value = (
        light_sequence.computed_heads(b, b.linear(x, hidden, hidden), heads, depth)
        for _ in range(3))
    scores = b.node("MatMul", query, b.node("Transpose", key, perm=[0, 1, 3, 2]))
    context = b.node("MatMul", b.node("Softmax", scores, axis=-1), value)
    context = b.node("Transpose", context, perm=[0, 2, 1, 3])
    joined = b.node("Reshape", context, light_sequence.computed_shape(b, context, [hidden]))
    y = b.node("Add", x, b.linear(joined, hidden, hidden))
    rows = b.node("Transpose", y, perm=[0, 2, 1])
    mixed = b.node("Conv", rows, b.weight((hidden, hidden, 3), 3 * hidden), kernel_shape=[3],
                   pads=[1, 1])
    mean = b.node("ReduceMean", b.node("Relu", mixed), axes=[2], keepdims=0)
    return b.finish({"output": (b.linear(mean, hidden, 10), ["batch", 10])})


def images():
    """Padded convolutions of several kinds and pools over images of any size."""
    b = ModelBuilder("open_images", 19)
    x = b.conv_bn_relu(b.input("input", ["batch", 3, "height", "width"]), 16, 3)
    deep = b.conv_bn_relu(x, 16, 5, group=16)
    pooled = b.pool("AveragePool", x)
    joined = b.concat([b.conv_bn_relu(deep, 8, 1), b.conv_bn_relu(x, 8, 3), pooled])
    halved = b.pool("MaxPool", b.conv_bn_relu(joined, 24, 3), 3, 2)
    return b.finish({"output": (b.classifier(halved), ["batch", 10])})
