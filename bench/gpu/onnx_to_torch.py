"""An ONNX model as a flat torch module, the same for every torch peer.

Parameters are buffers; the forward pass is the graph node by node with static shapes, so that
torch.jit.trace and torch.compile take it whole. Fused forms are left to the peers.
"""

import numpy as np
import torch
import torch.nn.functional as F
from onnx import TensorProto

import onnx_operators

INTEGER_TYPES = {TensorProto.INT64: torch.int64, TensorProto.INT32: torch.int32,
                 TensorProto.BOOL: torch.bool}


class TorchBackend:
    """The primitives of onnx_operators in torch; `dtype` stands for the model's float32."""

    def __init__(self, dtype):
        self.dtype = dtype
        self.largest = torch.finfo(dtype).max

    erf, sqrt, tanh = staticmethod(torch.erf), staticmethod(torch.sqrt), staticmethod(torch.tanh)
    relu, sigmoid = staticmethod(torch.relu), staticmethod(torch.sigmoid)
    matmul, addmm = staticmethod(torch.matmul), staticmethod(torch.addmm)
    where = staticmethod(torch.where)

    def conv(self, x, weights, bias, strides, pads, dilations, groups):
        x, pads = self._symmetric(x, pads, 0.0)
        return F.conv2d(x, weights, bias, strides, pads, dilations, groups)

    def max_pool(self, x, window, strides, pads, rounds_up):
        x, pads = self._symmetric(x, pads, -torch.inf)
        return F.max_pool2d(x, window, strides, pads, ceil_mode=rounds_up)

    def average_pool(self, x, window, strides, pads, rounds_up, with_padding):
        if list(pads[:2]) != list(pads[2:]) and not with_padding:
            raise NotImplementedError("AveragePool with uneven padding")
        x, pads = self._symmetric(x, pads, 0.0)
        return F.avg_pool2d(x, window, strides, pads, ceil_mode=rounds_up,
                            count_include_pad=with_padding)

    @staticmethod
    def _symmetric(x, pads, value):
        """Torch pads both sides alike: uneven padding becomes a pad of its own."""
        top, left, bottom, right = pads
        if (top, left) == (bottom, right):
            return x, [top, left]
        return F.pad(x, [left, right, top, bottom], value=value), [0, 0]

    def batch_norm(self, x, scale, shift, mean, variance, epsilon):
        return F.batch_norm(x, mean, variance, scale, shift, False, 0.0, epsilon)

    def layer_norm(self, x, shape, scale, shift, epsilon):
        return F.layer_norm(x, shape, scale, shift, epsilon)

    def mean(self, x, axes, keep):
        return torch.mean(x, axes, keepdim=keep)

    def softmax(self, x, axis):
        return torch.softmax(x, axis)

    def gelu(self, x, approximate):
        return F.gelu(x, approximate=approximate)

    def clip(self, x, low, high):
        return torch.clamp(x, low, high)

    def transpose(self, x, order):
        if list(order) == [0, 2, 3, 1]:
            # Attention's keys, split into heads and transposed at once. torch.compile knows them in
            # two steps; in one, torch 2.11's own rewriting of attention fails.
            return x.permute(0, 2, 1, 3).transpose(-1, -2)
        return x.permute(order)

    def concat(self, parts, axis):
        return torch.cat(parts, axis)

    def split(self, x, sizes, axis):
        parts = torch.split(x, sizes, axis)
        return [parts[index] for index in range(len(sizes))]

    def take(self, x, indices, axis, rank):
        if axis == 0 and rank == 2:
            return F.embedding(indices, x)
        return x[(slice(None),) * axis + (indices,)]

    def pad(self, x, before, after, value):
        pairs = [size for pair in zip(before[::-1], after[::-1]) for size in pair]
        return F.pad(x, pairs, value=value)

    def reshape(self, x, shape):
        return x.reshape(shape)

    def expand(self, x, shape):
        return x.expand(shape)

    def cast(self, x, to):
        return x.to(self.dtype if to == TensorProto.FLOAT else INTEGER_TYPES[to])


class Interpreter(torch.nn.Module):
    """Runs a ModelGraph that was loaded with parameters."""

    def __init__(self, graph, dtype):
        super().__init__()
        onnx_operators.check_operators(graph)
        self.graph_of_model = graph
        self.backend = TorchBackend(dtype)
        self.names = {}
        for index, name in enumerate(onnx_operators.constant_uses(graph)):
            self.names[name] = f"c{index}"
            self.register_buffer(f"c{index}", to_tensor(graph.constants[name], dtype))

    def forward(self, *inputs):
        constants = {name: getattr(self, short) for name, short in self.names.items()}
        return tuple(onnx_operators.run(self.backend, self.graph_of_model, constants, inputs))


def to_tensor(values, dtype):
    """A tensor of the array; floats get `dtype` and stay finite in it."""
    tensor = torch.from_numpy(np.array(values))
    if not tensor.is_floating_point():
        return tensor
    if torch.finfo(dtype).max < torch.finfo(tensor.dtype).max:
        tensor = tensor.clamp(torch.finfo(dtype).min, torch.finfo(dtype).max)
    return tensor.to(dtype)


def to_module(graph, dtype=torch.float32):
    """Returns the graph as one flat torch.fx.GraphModule in evaluation mode, on the processor."""
    interpreter = Interpreter(graph, dtype)
    flat = torch.fx.Graph()
    inputs = [flat.placeholder(f"x{index}") for index in range(len(graph.inputs))]
    tracer = torch.fx.proxy.GraphAppendingTracer(flat)
    constants = {name: torch.fx.Proxy(flat.get_attr(short), tracer)
                 for name, short in interpreter.names.items()}
    results = onnx_operators.run(interpreter.backend, graph, constants,
                                 [torch.fx.Proxy(node, tracer) for node in inputs])
    flat.output(tuple(result.node for result in results))
    module = torch.fx.GraphModule(interpreter, flat)
    return module.eval()
