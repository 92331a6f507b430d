"""A small static graph of an ONNX model: shapes known, constants folded.

Parameters have a shape and no values, so that skeletons need not be restored. What is known before
the model runs (shapes, axes, scales) has values and is computed here.
"""

import dataclasses
import math
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper, shape_inference
from onnx.reference import ReferenceEvaluator

MODELS = pathlib.Path(__file__).resolve().parent.parent / "models"
sys.path.insert(0, str(MODELS))

import skeleton  # noqa: E402 (found through the line above)

# Larger constants are parameters or tables: nothing reads their values.
FOLDED_ELEMENTS_MAX = 1 << 16
# What a skeleton keeps exactly; larger float tensors are empty in it.
KEPT_BYTES_MAX = skeleton.KEPT_BYTES_MAX


@dataclasses.dataclass(eq=False)
class Node:
    """One operator; `inputs` and `outputs` are tensor names, "" for an omitted one."""

    op: str
    inputs: list
    outputs: list
    attributes: dict = dataclasses.field(default_factory=dict)

    @property
    def output(self):
        return self.outputs[0]


class ModelGraph:
    """Nodes in topological order and what is known of their tensors.

    shapes: name to tuple; dtypes: name to TensorProto type; constants: name to array, or to None
    for a parameter whose values do not matter.
    """

    def __init__(self, with_parameters=False):
        self.with_parameters = with_parameters
        self.nodes = []
        self.inputs = []
        self.outputs = []
        self.shapes = {}
        self.dtypes = {}
        self.constants = {}

    def is_constant(self, name):
        return name in self.constants

    def scalar(self, name):
        """Returns the value of a constant with one element, None for anything else."""
        value = self.constants.get(name)
        return float(value.reshape(-1)[0]) if value is not None and value.size == 1 else None

    def elements(self, name):
        return math.prod(self.shapes[name])

    def remove_dead_nodes(self):
        """Drops nodes that no output depends on."""
        needed = set(self.outputs)
        kept = []
        for node in reversed(self.nodes):
            if needed.intersection(node.outputs):
                kept.append(node)
                needed.update(name for name in node.inputs if name)
        self.nodes = kept[::-1]


def read_model(source):
    """Returns the ModelProto of a .skeleton (parameters empty) or an .onnx file."""
    if source.suffix == ".skeleton":
        return skeleton.read_skeleton(source)[0]
    return onnx.load(str(source))


def load(model, with_parameters=False):
    """Returns the ModelGraph of a ModelProto, whose symbolic dimensions must be bound before.

    With `with_parameters` every constant has its values, so that the graph can be executed.
    """
    graph = ModelGraph(with_parameters)
    opsets = {item.domain or "": item.version for item in model.opset_import}
    for tensor in model.graph.initializer:
        _add_constant(graph, tensor.name, tensor)
    for info in model.graph.input:
        if info.name in graph.constants:
            continue
        shape = [dimension.dim_value for dimension in info.type.tensor_type.shape.dim]
        graph.inputs.append(info.name)
        graph.shapes[info.name] = tuple(shape)
        graph.dtypes[info.name] = info.type.tensor_type.elem_type
    graph.outputs = [info.name for info in model.graph.output]
    for proto in model.graph.node:
        _add_node(graph, proto, opsets)
    graph.remove_dead_nodes()
    return graph


def _add_constant(graph, name, tensor):
    """Records a constant; large floats are parameters, and empty in a skeleton anyway."""
    graph.shapes[name], graph.dtypes[name] = tuple(tensor.dims), tensor.data_type
    count = math.prod(tensor.dims)
    is_large_float = tensor.data_type == TensorProto.FLOAT and count * 4 > KEPT_BYTES_MAX
    is_readable = graph.with_parameters or \
        (not is_large_float and count <= FOLDED_ELEMENTS_MAX)
    graph.constants[name] = numpy_helper.to_array(tensor) if is_readable else None


def _add_node(graph, proto, opsets):
    """Appends the node, or records its results as constants when they are known."""
    attributes = {item.name: helper.get_attribute_value(item) for item in proto.attribute}
    if proto.op_type == "Constant":
        _add_constant_node(graph, proto, attributes)
        return
    inputs = list(proto.input)
    proto = helper.make_node(
        proto.op_type, inputs, list(proto.output), name=proto.name, domain=proto.domain)
    proto.attribute.extend(helper.make_attribute(key, value) for key, value in attributes.items())
    _infer(graph, proto, opsets)
    if proto.op_type == "Shape":
        begin, end = attributes.get("start", 0), attributes.get("end")
        graph.constants[proto.output[0]] = np.array(
            graph.shapes[inputs[0]][begin:end], dtype=np.int64)
    elif all(name in graph.constants for name in inputs if name):
        _fold(graph, proto, opsets)
    else:
        if attributes.get("auto_pad") == b"NOTSET":  # the default, which plait does not print
            del attributes["auto_pad"]
        graph.nodes.append(Node(proto.op_type, inputs, list(proto.output), attributes))


def _add_constant_node(graph, proto, attributes):
    (name,) = proto.output
    if "value" in attributes:
        _add_constant(graph, name, attributes["value"])
        return
    (key, value), = attributes.items()
    dtype = np.float32 if key.startswith("value_float") else np.int64
    _add_constant(graph, name, numpy_helper.from_array(np.array(value, dtype=dtype)))


def _infer(graph, proto, opsets):
    """Records the types of the node's outputs."""
    schema = onnx.defs.get_schema(proto.op_type, opsets[proto.domain], proto.domain)
    types, values = {}, {}
    for name in filter(None, proto.input):
        types[name] = helper.make_tensor_type_proto(graph.dtypes[name], graph.shapes[name])
        value = graph.constants.get(name)
        if value is not None:
            values[name] = numpy_helper.from_array(value, name)
    imports = [helper.make_opsetid(domain, version) for domain, version in opsets.items()]
    inferred = shape_inference.infer_node_outputs(
        schema, proto, types, values, opset_imports=imports)
    for name in filter(None, proto.output):
        if name not in inferred:
            raise ValueError(f"{proto.op_type} {proto.name}: the type of {name} is unknown")
        tensor = inferred[name].tensor_type
        if not all(dimension.HasField("dim_value") for dimension in tensor.shape.dim):
            raise ValueError(f"{proto.op_type} {proto.name}: the shape of {name} is unknown")
        graph.shapes[name] = tuple(dimension.dim_value for dimension in tensor.shape.dim)
        graph.dtypes[name] = tensor.elem_type


def _fold(graph, proto, opsets):
    """Computes a node of constants, or records its results as parameters when they are large."""
    names = [name for name in proto.input if name]
    outputs = [name for name in proto.output if name]
    is_small = all(graph.elements(name) <= FOLDED_ELEMENTS_MAX for name in outputs)
    has_values = all(graph.constants[name] is not None for name in names)
    if not has_values or not (is_small or graph.with_parameters):
        graph.constants.update(dict.fromkeys(outputs))
        return
    if proto.op_type == "GatherElements":  # onnx's own evaluator fails for more than 64 columns
        data, indices = (graph.constants[name] for name in names)
        axis = next((item.i for item in proto.attribute if item.name == "axis"), 0)
        graph.constants[outputs[0]] = np.take_along_axis(data, indices, axis)
        return
    infos = {name: helper.make_tensor_value_info(name, graph.dtypes[name], graph.shapes[name])
             for name in names + outputs}
    body = helper.make_graph(
        [proto], "fold", [infos[name] for name in dict.fromkeys(names)],
        [infos[name] for name in outputs])
    imports = [helper.make_opsetid(domain, version) for domain, version in opsets.items()]
    model = helper.make_model(body, opset_imports=imports)
    values = ReferenceEvaluator(model).run(None, {name: graph.constants[name] for name in names})
    graph.constants.update(zip(outputs, values))
