"""A small helper that writes ONNX graphs node by node, with seeded parameters.

A tensor is its name. The builder remembers how many channels a tensor has, so that a layer is one
call with only its output width given.
"""

import math

import numpy as np
from onnx import TensorProto, helper, numpy_helper

import draws

# The IR version that the PyTorch exporters write beside each opset.
IR_VERSION_OF_OPSET = {17: 8, 20: 10}


class ModelBuilder:
    """Collects nodes and parameters in order and ends as one ModelProto."""

    def __init__(self, name, seed, opset=17):
        self.name = name
        self.seed = seed
        self.opset = opset
        self.nodes = []
        self.initializers = []
        self.inputs = []
        self.channels = {}
        self._constants = {}

    def input(self, name, shape, dtype=TensorProto.FLOAT):
        """Declares a graph input; a string among the dimensions is a symbolic one."""
        self.inputs.append(helper.make_tensor_value_info(name, dtype, shape))
        if len(shape) > 1 and isinstance(shape[1], int):
            self.channels[name] = shape[1]
        return name

    def constant(self, values, dtype=np.float32):
        """Returns an initializer with these values; equal ones are shared."""
        array = np.asarray(values, dtype=dtype)
        key = (array.tobytes(), array.shape, array.dtype.str)
        if key not in self._constants:
            self._constants[key] = self._add_initializer("constant", array)
        return self._constants[key]

    def weight(self, shape, fan_in, gain=2.0):
        """Draws a weight whose deviation sqrt(gain / fan_in) keeps activations near size one."""
        return self._parameter("weight", shape, 0.0, math.sqrt(gain / fan_in))

    def bias(self, size, mean=0.0, deviation=0.2):
        """Draws a bias-like vector: seeded and never constant, since constants hide dead code."""
        return self._parameter("bias", (size,), mean, deviation)

    def positive(self, shape, low=0.5, high=1.5):
        """Draws a scale or a variance, which must stay positive."""
        seed = draws.seed_of(self.seed, self.name, len(self.initializers))
        values = draws.uniform(seed, math.prod(shape), low, high).reshape(shape)
        return self._add_initializer("scale", values)

    def node(self, op, *inputs, outputs=1, **attributes):
        """Appends a node and returns its output name, or the list of them when there are more.

        Outputs take over the channel count of the first input; layers that change it say so.
        """
        stem = f"{op}_{len(self.nodes)}"
        names = [f"{stem}_output_{index}" for index in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, name=stem, **attributes))
        for name in names:
            if inputs and inputs[0] in self.channels:
                self.channels[name] = self.channels[inputs[0]]
        return names[0] if outputs == 1 else names

    def conv(self, x, width, kernel, stride=1, group=1, bias=False):
        """Appends a convolution that keeps the size of the image (divided by the stride)."""
        rows, columns = kernel if isinstance(kernel, tuple) else (kernel, kernel)
        depth = self.channels[x] // group
        inputs = [x, self.weight((width, depth, rows, columns), depth * rows * columns)]
        if bias:
            inputs.append(self.bias(width))
        pads = [rows // 2, columns // 2, rows // 2, columns // 2]
        result = self.node(
            "Conv", *inputs, kernel_shape=[rows, columns], strides=[stride, stride],
            pads=pads, group=group, dilations=[1, 1])
        self.channels[result] = width
        return result

    def batch_norm(self, x):
        """Appends a BatchNormalization with running statistics that are not 0 and 1."""
        width = self.channels[x]
        return self.node(
            "BatchNormalization", x, self.positive((width,)), self.bias(width),
            self.bias(width), self.positive((width,)), epsilon=1e-5, momentum=0.9)

    def conv_bn(self, x, width, kernel, stride=1, group=1):
        return self.batch_norm(self.conv(x, width, kernel, stride, group))

    def conv_bn_relu(self, x, width, kernel, stride=1, group=1):
        return self.node("Relu", self.conv_bn(x, width, kernel, stride, group))

    def pool(self, op, x, kernel=3, stride=1):
        """Appends a MaxPool or AveragePool with padding that keeps the size of the image."""
        extra = {"count_include_pad": 0} if op == "AveragePool" else {}
        pads = [kernel // 2] * 4
        return self.node(
            op, x, kernel_shape=[kernel, kernel], strides=[stride, stride], pads=pads, **extra)

    def concat(self, tensors, axis=1):
        result = self.node("Concat", *tensors, axis=axis)
        if axis == 1 and all(tensor in self.channels for tensor in tensors):
            self.channels[result] = sum(self.channels[tensor] for tensor in tensors)
        return result

    def classifier(self, x, classes=10):
        """Appends global average pooling and a fully connected layer: the usual head."""
        flat = self.node("Flatten", self.node("GlobalAveragePool", x), axis=1)
        width = self.channels[x]
        # A gain of 8 makes up for the averaging, which takes away most of the variation.
        weight = self.weight((classes, width), width, gain=8.0)
        return self.node("Gemm", flat, weight, self.bias(classes), alpha=1.0, beta=1.0, transB=1)

    def linear(self, x, inputs, outputs, gain=1.0):
        """Appends MatMul and Add, which is how exporters write a linear layer on rank 3."""
        product = self.node("MatMul", x, self.weight((inputs, outputs), inputs, gain))
        return self.node("Add", self.bias(outputs), product)

    def finish(self, outputs):
        """Returns the model; `outputs` maps a public name to (tensor, shape)."""
        infos = []
        for public, (tensor, shape) in outputs.items():
            self._rename_output(tensor, public)
            infos.append(helper.make_tensor_value_info(public, TensorProto.FLOAT, shape))
        graph = helper.make_graph(
            self.nodes, self.name, self.inputs, infos, initializer=self.initializers)
        return helper.make_model(
            graph, producer_name="plait-bench",
            opset_imports=[helper.make_opsetid("", self.opset)],
            ir_version=IR_VERSION_OF_OPSET[self.opset])

    def _rename_output(self, tensor, public):
        for node in self.nodes:
            for names in (node.input, node.output):
                for index, name in enumerate(names):
                    if name == tensor:
                        names[index] = public

    def _parameter(self, kind, shape, mean, deviation):
        seed = draws.seed_of(self.seed, self.name, len(self.initializers))
        values = draws.normal(seed, math.prod(shape), mean, deviation).reshape(shape)
        return self._add_initializer(kind, values)

    def _add_initializer(self, kind, array):
        name = f"{kind}_{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(array, name))
        return name
