"""An ONNX model as a pure function for jax.jit, with the operators of onnx_operators.py."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from onnx import TensorProto

import onnx_operators

INTEGER_TYPES = {TensorProto.INT64: jnp.int64, TensorProto.INT32: jnp.int32,
                 TensorProto.BOOL: jnp.bool_}


class JaxBackend:
    """The primitives of onnx_operators in jax; `dtype` stands for the model's float32."""

    def __init__(self, dtype):
        self.dtype = dtype
        self.largest = float(np.finfo(dtype).max)

    erf, sqrt, tanh = staticmethod(lax.erf), staticmethod(jnp.sqrt), staticmethod(jnp.tanh)
    relu, sigmoid = staticmethod(jax.nn.relu), staticmethod(jax.nn.sigmoid)
    matmul, where = staticmethod(jnp.matmul), staticmethod(jnp.where)

    def addmm(self, bias, a, b):
        return jnp.matmul(a, b) + bias

    def conv(self, x, weights, bias, strides, pads, dilations, groups):
        result = lax.conv_general_dilated(
            x, weights, strides, [(pads[0], pads[2]), (pads[1], pads[3])],
            rhs_dilation=dilations, dimension_numbers=("NCHW", "OIHW", "NCHW"),
            feature_group_count=groups)
        return result if bias is None else result + bias.reshape(1, -1, 1, 1)

    def max_pool(self, x, window, strides, pads, rounds_up):
        return self._reduce_window(x, -jnp.inf, lax.max, window, strides, pads, rounds_up)

    def average_pool(self, x, window, strides, pads, rounds_up, with_padding):
        total = self._reduce_window(x, 0.0, lax.add, window, strides, pads, rounds_up)
        if with_padding and not rounds_up:
            return total / (window[0] * window[1])
        ones = jnp.ones((1, 1) + x.shape[2:], x.dtype)
        if with_padding:
            raise NotImplementedError("AveragePool with counted padding that rounds up")
        return total / self._reduce_window(ones, 0.0, lax.add, window, strides, pads, rounds_up)

    @staticmethod
    def _reduce_window(x, start, function, window, strides, pads, rounds_up):
        sides = [(pads[0], pads[2]), (pads[1], pads[3])]
        if rounds_up:  # what the last window lacks is padding
            sizes = x.shape[2:]
            rest = [-(sizes[i] + sum(sides[i]) - window[i]) % strides[i] for i in (0, 1)]
            sides = [(begin, end + more) for (begin, end), more in zip(sides, rest)]
        return lax.reduce_window(x, jnp.array(start, x.dtype), function, (1, 1, *window),
                                 (1, 1, *strides), [(0, 0), (0, 0), *sides])

    def batch_norm(self, x, scale, shift, mean, variance, epsilon):
        factor = scale / jnp.sqrt(variance + epsilon)
        return x * factor[:, None, None] + (shift - mean * factor)[:, None, None]

    def layer_norm(self, x, shape, scale, shift, epsilon):
        axes = tuple(range(-len(shape), 0))
        # Half floats are normalized in single precision, as torch does.
        wide = x.astype(jnp.promote_types(x.dtype, jnp.float32))
        centred = wide - wide.mean(axes, keepdims=True)
        normal = centred * lax.rsqrt((centred * centred).mean(axes, keepdims=True) + epsilon)
        result = normal.astype(x.dtype) * scale
        return result if shift is None else result + shift

    def mean(self, x, axes, keep):
        return jnp.mean(x, tuple(axes), keepdims=keep)

    def softmax(self, x, axis):
        return jax.nn.softmax(x, axis)

    def gelu(self, x, approximate):
        return jax.nn.gelu(x, approximate=approximate == "tanh")

    def clip(self, x, low, high):
        return jnp.clip(x, low, high)

    def transpose(self, x, order):
        return jnp.transpose(x, order)

    def concat(self, parts, axis):
        return jnp.concatenate(parts, axis)

    def split(self, x, sizes, axis):
        return jnp.split(x, np.cumsum(sizes)[:-1].tolist(), axis)

    def take(self, x, indices, axis, rank):
        del rank
        return jnp.take(x, indices, axis)

    def pad(self, x, before, after, value):
        return jnp.pad(x, list(zip(before, after)), constant_values=value)

    def reshape(self, x, shape):
        return jnp.reshape(x, shape)

    def expand(self, x, shape):
        return jnp.broadcast_to(x, shape)

    def cast(self, x, to):
        return x.astype(self.dtype if to == TensorProto.FLOAT else INTEGER_TYPES[to])


def to_function(graph, dtype=np.float32):
    """Returns (function, parameters): outputs = function(parameters, *inputs).

    Parameters are arguments, because XLA would fold constants for minutes.
    """
    onnx_operators.check_operators(graph)
    backend = JaxBackend(dtype)
    parameters = {name: to_array(graph.constants[name], dtype)
                  for name in onnx_operators.constant_uses(graph)}

    def function(parameters, *inputs):
        return tuple(onnx_operators.run(backend, graph, parameters, inputs))

    return function, parameters


def to_array(values, dtype):
    """The array with floats as `dtype`, finite in it."""
    values = np.asarray(values)
    if not np.issubdtype(values.dtype, np.floating):
        return values
    limits = np.finfo(dtype)
    return np.clip(values.astype(np.float64), float(limits.min), float(limits.max)).astype(dtype)
