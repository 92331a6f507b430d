"""Light sequence models: transformers, a recurrent stack, and a model of unknown batch size."""

import math

import numpy as np
from onnx import TensorProto

from builder import ModelBuilder
from sru import sru_model


def tiny_bert(seed, layers=2, hidden=64, heads=4, tokens=16, vocabulary=120):
    """Returns a BERT encoder with LayerNorm, GELU and attention written out in basic operators."""
    b = ModelBuilder("tiny_bert", seed)
    ids = b.input("input_ids", [1, tokens], TensorProto.INT64)
    mask = b.input("attention_mask", [1, tokens], TensorProto.INT64)
    bias = mask_bias(b, mask)
    words = b.node("Gather", b.weight((vocabulary, hidden), 1, 1.0), ids, axis=0)
    types = b.node("Gather", b.weight((2, hidden), 1, 1.0),
                   b.constant(np.zeros((1, tokens)), np.int64), axis=0)
    places = b.node("Gather", b.weight((tokens, hidden), 1, 1.0),
                    b.constant(np.arange(tokens)[None], np.int64), axis=0)
    x = b.node("Add", b.node("Add", words, types), places)
    x = spelled_layer_norm(b, x, hidden)
    for _ in range(layers):
        x = bert_layer(b, x, bias, tokens, hidden, heads)
    first = b.node("Gather", x, b.constant(0, np.int64), axis=1)
    pooled = b.node("Gemm", first, b.weight((hidden, hidden), hidden, 1.0), b.bias(hidden),
                    alpha=1.0, beta=1.0, transB=1)
    pooled = b.node("Tanh", pooled)
    return b.finish({"last_hidden_state": (x, [1, tokens, hidden]),
                     "pooler_output": (pooled, [1, hidden])})


def mask_bias(b, mask):
    """Appends (1 - mask) * lowest float, broadcast to attention scores."""
    mask = b.node("Unsqueeze", mask, b.constant([1], np.int64))
    mask = b.node("Unsqueeze", mask, b.constant([2], np.int64))
    mask = b.node("Cast", mask, to=TensorProto.FLOAT)
    masked = b.node("Sub", b.constant(1.0), mask)
    return b.node("Mul", masked, b.constant(np.finfo(np.float32).min))


def bert_layer(b, x, bias, tokens, hidden, heads):
    """Appends one post-norm encoder layer."""
    depth = hidden // heads
    query = split_heads(b, b.linear(x, hidden, hidden), tokens, heads, depth, [0, 2, 1, 3])
    value = split_heads(b, b.linear(x, hidden, hidden), tokens, heads, depth, [0, 2, 1, 3])
    # Keys are laid out transposed at once: the exporters merge both transpositions into one.
    key = split_heads(b, b.linear(x, hidden, hidden), tokens, heads, depth, [0, 2, 3, 1])
    scores = b.node("Div", b.node("MatMul", query, key), b.constant(math.sqrt(depth)))
    weights = b.node("Softmax", b.node("Add", scores, bias), axis=-1)
    context = join_heads(b, b.node("MatMul", weights, value), tokens, hidden)
    attended = b.node("Add", b.linear(context, hidden, hidden), x)
    attended = spelled_layer_norm(b, attended, hidden)
    inner = spelled_gelu(b, b.linear(attended, hidden, 4 * hidden))
    return spelled_layer_norm(b, b.node("Add", b.linear(inner, 4 * hidden, hidden), attended),
                              hidden)


def split_heads(b, x, tokens, heads, depth, order):
    shape = b.constant([1, tokens, heads, depth], np.int64)
    return b.node("Transpose", b.node("Reshape", x, shape), perm=order)


def join_heads(b, x, tokens, hidden):
    x = b.node("Transpose", x, perm=[0, 2, 1, 3])
    return b.node("Reshape", x, b.constant([1, tokens, hidden], np.int64))


def spelled_layer_norm(b, x, hidden):
    """Appends LayerNorm as nine operators, the form exporters write where the node is missing."""
    centred = b.node("Sub", x, b.node("ReduceMean", x, axes=[-1], keepdims=1))
    squared = b.node("Pow", centred, b.constant(2.0))
    variance = b.node("ReduceMean", squared, axes=[-1], keepdims=1)
    deviation = b.node("Sqrt", b.node("Add", variance, b.constant(1e-12)))
    scaled = b.node("Mul", b.node("Div", centred, deviation), b.positive((hidden,)))
    return b.node("Add", scaled, b.bias(hidden))


def spelled_gelu(b, x):
    """Appends x * (1 + erf(x / sqrt 2)) / 2 in the exporter's order of operations."""
    erf = b.node("Erf", b.node("Div", x, b.constant(math.sqrt(2.0))))
    return b.node("Mul", b.node("Mul", x, b.node("Add", erf, b.constant(1.0))), b.constant(0.5))


def tiny_gpt(seed, layers=2, hidden=64, heads=4, tokens=16, vocabulary=120):
    """Returns a causal decoder in opset 20: LayerNormalization and Gelu are single nodes."""
    b = ModelBuilder("tiny_gpt", seed, opset=20)
    ids = b.input("input_ids", [1, tokens], TensorProto.INT64)
    embedding = b.weight((vocabulary, hidden), 1, 1.0)
    places = b.node("Gather", b.weight((tokens, hidden), 1, 1.0),
                    b.constant(np.arange(tokens)[None], np.int64), axis=0)
    x = b.node("Add", b.node("Gather", embedding, ids, axis=0), places)
    for _ in range(layers):
        x = gpt_layer(b, x, tokens, hidden, heads)
    x = norm_node(b, x, hidden)
    # The head shares the embedding, transposed, as in the published model.
    head = b.node("Transpose", embedding, perm=[1, 0])
    return b.finish({"logits": (b.node("MatMul", x, head), [1, tokens, vocabulary])})


def gpt_layer(b, x, tokens, hidden, heads):
    """Appends one pre-norm decoder layer with a causal mask."""
    depth = hidden // heads
    joined = b.linear(norm_node(b, x, hidden), hidden, 3 * hidden)
    parts = b.node("Split", joined, b.constant([hidden] * 3, np.int64), outputs=3, axis=2)
    query, key, value = (split_heads(b, part, tokens, heads, depth, [0, 2, 1, 3])
                         for part in parts)
    key = b.node("Transpose", key, perm=[0, 1, 3, 2])
    scores = b.node("Mul", b.node("MatMul", query, key), b.constant(1.0 / math.sqrt(depth)))
    causal = b.constant(np.tril(np.ones((1, 1, tokens, tokens))), np.bool_)
    scores = b.node("Where", causal, scores, b.constant(np.finfo(np.float32).min))
    context = b.node("MatMul", b.node("Softmax", scores, axis=-1), value)
    x = b.node("Add", x, b.linear(join_heads(b, context, tokens, hidden), hidden, hidden))
    inner = b.linear(norm_node(b, x, hidden), hidden, 4 * hidden)
    inner = b.node("Gelu", inner, approximate="tanh")
    return b.node("Add", x, b.linear(inner, 4 * hidden, hidden))


def norm_node(b, x, hidden):
    return b.node("LayerNormalization", x, b.positive((hidden,)), b.bias(hidden),
                  axis=-1, epsilon=1e-5)


def tiny_sru(seed):
    """Returns a two-layer SRU stack of the same construction as the full-size rnntc_sru."""
    return sru_model("tiny_sru", seed, layers=2, hidden=32, steps=5)


def tiny_dynamic(seed, hidden=32, heads=4, tokens=8):
    """Returns an attention block of unknown batch size, with shapes computed at run time."""
    b = ModelBuilder("tiny_dynamic", seed)
    x = b.input("input", ["batch", tokens, hidden])
    depth = hidden // heads
    query = computed_heads(b, b.linear(x, hidden, hidden), heads, depth)
    key = computed_heads(b, b.linear(x, hidden, hidden), heads, depth)
    value = computed_heads(b, b.linear(x, hidden, hidden), heads, depth)
    key = b.node("Transpose", key, perm=[0, 1, 3, 2])
    scores = b.node("Div", b.node("MatMul", query, key), b.constant(math.sqrt(depth)))
    context = b.node("MatMul", b.node("Softmax", scores, axis=-1), value)
    context = b.node("Transpose", context, perm=[0, 2, 1, 3])
    joined = b.node("Reshape", context, computed_shape(b, context, [hidden]))
    y = b.node("Relu", b.node("Add", x, b.linear(joined, hidden, hidden)))
    flat = b.node("Reshape", y, computed_shape(b, y, [tokens * hidden], leading=1))
    logits = b.linear(flat, tokens * hidden, 10)
    return b.finish({"output": (logits, ["batch", 10])})


def computed_heads(b, x, heads, depth):
    shaped = b.node("Reshape", x, computed_shape(b, x, [heads, depth]))
    return b.node("Transpose", shaped, perm=[0, 2, 1, 3])


def computed_shape(b, x, trailing, leading=2):
    """Appends the chain Shape, Gather, Unsqueeze, Concat for the first dimensions of `x`."""
    axis = b.constant([0], np.int64)
    parts = []
    for index in range(leading):
        size = b.node("Gather", b.node("Shape", x), b.constant(index, np.int64), axis=0)
        parts.append(b.node("Unsqueeze", size, axis))
    parts += [b.constant([size], np.int64) for size in trailing]
    return b.concat(parts, axis=0)
