"""Kernels as graphs in plait's text form, named as optimizer/kernels/kernel.h names them.

Inputs are %i0.., constants %c0.. in the order of first use, results %t0... Scalars and integer
constants keep their values, parameters are synthetic.
"""

import math

import numpy as np

from onnx import TensorProto

TYPE_NAMES = {
    TensorProto.FLOAT: "float32", TensorProto.INT64: "int64", TensorProto.INT32: "int32",
    TensorProto.BOOL: "bool", TensorProto.UINT8: "uint8", TensorProto.INT8: "int8",
}


def float_text(value):
    """The shortest decimal that reads back as the same float32, as C++17's to_chars writes it."""
    number = np.float32(value)
    if not math.isfinite(number):
        return f"0x{number.view(np.uint32):08x}"
    candidates = [np.format_float_positional(number, unique=True, trim="-"),
                  _scientific(np.format_float_scientific(number, unique=True, trim="-"))]
    return min(candidates, key=len)


def _scientific(text):
    mantissa, exponent = text.split("e")
    sign, digits = exponent[0], exponent[1:].lstrip("0") or "0"
    return f"{mantissa}e{sign}{digits.zfill(2)}"


def attribute_text(value):
    """One attribute as plait prints it."""
    if isinstance(value, bytes):
        return '"' + value.decode() + '"'
    if isinstance(value, float):
        text = float_text(value)
        return text if any(mark in text for mark in ".e") else text + ".0"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(attribute_text(item) for item in value) + "]"
    return str(int(value))


def attributes_text(attributes):
    """Attributes in braces, by name; what only says something about training is left out."""
    parts = [f"{name}={attribute_text(value)}" for name, value in sorted(attributes.items())]
    return "{" + ", ".join(parts) + "}"


def type_text(graph, name):
    """The tensor's type, such as float32[1,3,8,8]."""
    shape = ",".join(str(size) for size in graph.shapes[name])
    return f"{TYPE_NAMES[graph.dtypes[name]]}[{shape}]"


def kernel_inputs(graph, nodes):
    """Tensors that the nodes read and neither make nor are constants, in order of first use."""
    known = {name for node in nodes for name in node.outputs}
    names = []
    for node in nodes:
        for name in node.inputs:
            if name and name not in known and not graph.is_constant(name):
                known.add(name)
                names.append(name)
    return names


def _constant_text(graph, name, seed):
    """The value of a constant, or a synthetic one for a parameter; and the next seed."""
    value = graph.constants[name]
    if value is None or (graph.is_float(name) and value.size > 1):
        return f"synthetic {seed}", seed + 1
    flat = value.reshape(-1)
    if graph.is_float(name):
        return "[" + ",".join(float_text(item) for item in flat) + "]", seed
    return "[" + ",".join(str(int(item)) for item in flat) + "]", seed


def kernel_text(graph, nodes, outputs):
    """The graph of these nodes, which stand in topological order; `outputs` leave the kernel."""
    names = {name: f"i{index}" for index, name in enumerate(kernel_inputs(graph, nodes))}
    lines = [f"  input %{short}: {type_text(graph, name)}" for name, short in names.items()]
    body, constants, tensors, seed = [], 0, 0, 0
    for node in nodes:
        for name in node.inputs:
            if name and name not in names:
                value, seed = _constant_text(graph, name, seed)
                names[name] = f"c{constants}"
                constants += 1
                lines.append(f"  const %{names[name]}: {type_text(graph, name)} = {value}")
        for name in node.outputs:
            names[name] = f"t{tensors}"
            tensors += 1
        results = ", ".join(f"%{names[name]}: {type_text(graph, name)}" for name in node.outputs)
        arguments = ", ".join(f"%{names[name]}" if name else "_" for name in node.inputs)
        body.append(f"  {results} = {node.op}({arguments}) {attributes_text(node.attributes)}")
    result = ", ".join(f"%{names[name]}" for name in outputs)
    return "graph {\n" + "\n".join(lines + body) + f"\n  output {result}\n}}\n"
