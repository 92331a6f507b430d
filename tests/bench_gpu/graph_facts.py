"""What the graph text of a kernel says about its problem, read without the code that wrote it.

check(record) compares the fields of a line of the kernel list with the shapes and operators in its
graph, and returns what does not agree.
"""

import math
import re
import struct

TENSOR = re.compile(r"%(\w+): \w+\[([\d,]*)\]")
ATTRIBUTE = re.compile(r"(\w+)=(\[[^\]]*\]|[^,}]+)")


class Text:
    """Shapes by name, and the nodes as (operator, inputs, outputs, attributes)."""

    def __init__(self, text):
        self.shapes, self.nodes, self.inputs, self.constants = {}, [], [], []
        for line in text.splitlines():
            left, _, right = line.partition(" = ")
            for name, shape in TENSOR.findall(left):
                self.shapes[name] = [int(size) for size in shape.split(",") if size]
            if line.startswith("  input "):
                self.inputs += [name for name, _ in TENSOR.findall(line)]
            elif line.startswith("  const "):
                self.constants += [name for name, _ in TENSOR.findall(left)]
            elif line.startswith("  %"):
                operator = re.match(r"\w+", right).group()
                arguments = re.findall(r"%(\w+)", right[:right.index(")")])
                attributes = dict(ATTRIBUTE.findall(right[right.index("{"):]))
                outputs = [name for name, _ in TENSOR.findall(left)]
                self.nodes.append((operator, arguments, outputs, attributes))
        self.outputs = re.findall(r"%(\w+)", text.strip().splitlines()[-2])

    def first(self, *operators):
        return next(node for node in self.nodes if node[0] in operators)

    def count(self, *operators):
        return sum(node[0] in operators for node in self.nodes)

    def integers(self, node, name, default):
        value = node[3].get(name)
        return default if value is None else [int(item) for item in value[1:-1].split(",")]

    def output(self):
        return self.shapes[self.outputs[0]]


def float32(text):
    """The number that a float of this text is."""
    return struct.unpack("f", struct.pack("f", float(text)))[0]


def _conv(record, text, node=None):
    node = node or text.first("Conv")
    x, weights = text.shapes[node[1][0]], text.shapes[node[1][1]]
    out = text.shapes[node[2][0]]
    facts = {"n": x[0], "c": x[1], "h": x[2], "w": x[3], "k": weights[0], "r": weights[2],
             "s": weights[3], "stride": text.integers(node, "strides", [1, 1]),
             "dilation": text.integers(node, "dilations", [1, 1]),
             "pad": text.integers(node, "pads", [0, 0, 0, 0]),
             "groups": int(node[3].get("group", "1")), "bias": len(node[1]) > 2,
             "prologue_relu": text.nodes[0][0] == "Relu"}
    pad, stride, dilation = facts["pad"], facts["stride"], facts["dilation"]
    for axis, size in ((0, "r"), (1, "s")):
        reach = dilation[axis] * (facts[size] - 1) + 1
        expected = (x[2 + axis] + pad[axis] + pad[axis + 2] - reach) // stride[axis] + 1
        if expected != out[2 + axis]:
            facts["output"] = "does not follow from the fields"
    if weights[1] * facts["groups"] != x[1]:
        facts["weights"] = "do not fit the input"
    return facts


def _separable(record, text):
    convs = [node for node in text.nodes if node[0] == "Conv"]
    facts = _conv(record, text, convs[0])
    facts.update(pointwise_k=text.shapes[convs[1][1][1]][0], pointwise_bias=len(convs[1][1]) > 2,
                 pointwise_residual=text.count("Add") == 1)
    if text.shapes[convs[1][1][1]][2:] != [1, 1]:
        facts["pointwise"] = "is not 1x1"
    return facts


def _gemm(record, text):
    node = text.first("MatMul", "Gemm")
    a, b = text.shapes[node[1][0]], text.shapes[node[1][1]]
    transpose_a = node[3].get("transA", "0") == "1"
    transpose_b = node[3].get("transB", "0") == "1"
    out = text.shapes[node[2][0]]
    weights = node[1][1] in text.constants
    batch = 1 if weights or len(b) == 2 else math.prod(out[:-2])
    adds = text.count("Add") + (len(node[1]) > 2)
    return {"batch": batch, "m": math.prod(out) // out[-1] // batch, "n": out[-1],
            "k": a[-2 if transpose_a else -1], "weights": weights, "transpose_a": transpose_a,
            "transpose_b": transpose_b, "adds": adds,
            "inner": b[-1 if transpose_b else -2]}


def _attention(record, text):
    return {"produced": math.prod(text.output())}


def _pool(record, text):
    node, = text.nodes
    x, out = text.shapes[node[1][0]], text.shapes[node[2][0]]
    window = text.integers(node, "kernel_shape", x[2:])
    out = out + [1] * (4 - len(out))
    return {"n": x[0], "c": x[1], "h": x[2], "w": x[3], "r": window[0], "s": window[1],
            "stride": text.integers(node, "strides", [1, 1]),
            "pad": text.integers(node, "pads", [0, 0, 0, 0]), "output_h": out[2],
            "output_w": out[3]}


def _rows(record, text):
    x = text.shapes[text.inputs[0]]
    facts = {"elements": math.prod(x), "residual": text.count("Add") == 1}
    if record["kind"].endswith("_norm"):
        node = text.first("LayerNormalization", "RMSNormalization", "InstanceNormalization")
        facts["epsilon"] = float32(node[3].get("epsilon", "1e-05"))
    return facts


def _scale_shift(record, text):
    x = text.output()
    return {"n": x[0], "c": x[1], "spatial": math.prod(x[2:])}


def _elementwise(record, text):
    return {"shape": text.output(), "highest": 1 + max(
        (int(i) for i in re.findall(r"x(\d+)", record["expression"])), default=-1)}


def _resize(record, text):
    x, y = text.shapes[text.inputs[0]], text.output()
    return {"n": x[0], "c": x[1], "h": x[2], "w": x[3], "output": y[2:]}


def _recurrence(record, text):
    # Splits and Concats are no steps.
    made = [name for node in text.nodes if node[0] not in ("Split", "Concat") for name in node[2]]
    return {"computed": sum(math.prod(text.shapes[name]) for name in made),
            "produced": sum(math.prod(text.shapes[name]) for name in text.outputs)}


def _recurrent_layer(record, text):
    node, = text.nodes
    x, r = text.shapes[node[1][0]], text.shapes[node[1][2]]
    return {"kind": node[0].lower(), "steps": x[0], "batch": x[1], "input": x[2], "hidden": r[2],
            "direction": node[3].get("direction", '"forward"').strip('"'),
            "produced": sum(math.prod(text.shapes[name]) for name in text.outputs)}


def _movement(record, text):
    produced = sum(math.prod(text.shapes[name]) for name in text.outputs)
    if len(text.nodes) > 1:  # a chain, whose axes the problem has in another order
        return {"produced": produced}
    node, = text.nodes
    return {"inputs": [text.shapes[name] for name in node[1][:len(record["inputs"])]],
            "produced": produced}


READERS = {"conv": _conv, "separable_conv": _separable, "gemm": _gemm, "attention": _attention,
           "pool": _pool, "rows": _rows, "scale_shift": _scale_shift, "elementwise": _elementwise,
           "movement": _movement, "recurrence": _recurrence, "resize": _resize,
           "recurrent_layer": _recurrent_layer}


def derived(record):
    """Numbers that follow from the fields and that READERS find in the graph in another way."""
    problem = record["problem"]
    if problem == "gemm":
        return {"adds": int(record["bias"]) + int(record["residual"]), "inner": record["k"]}
    if problem == "rows":
        return {"elements": record["rows"] * record["columns"]}
    if problem == "elementwise":
        return {"highest": len(record["inputs"])}
    if problem == "attention":
        return {"produced": math.prod(record[name] for name in ("batch", "heads", "query", "dim"))}
    if problem == "resize":
        return {"output": [len(record[f"{axis}_elements"]) // record[f"{axis}_taps"]
                           for axis in ("row", "column")]}
    if problem == "recurrence":
        columns = record["columns"]
        return {"computed": columns * len(record["steps"].split(";")),
                "produced": columns * sum(map(len, record["outputs"]))}
    if problem == "recurrent_layer":
        states = math.prod(record[name] for name in ("batch", "hidden"))
        states *= 2 if record["direction"] == "bidirectional" else 1
        return {"produced": states * (record["steps"] * record["y"] + record["y_h"]
                                      + record["y_c"])}
    if problem == "movement":
        return {"produced": moved_elements(record)}
    return {}


def moved_elements(record):
    """How many elements the movement produces."""
    inputs = [math.prod(shape) for shape in record["inputs"]]
    shape = record["inputs"][0]
    if record["kind"] == "slice":
        return inputs[0] // shape[record["axis"]] * sum(record["sizes"])
    if record["kind"] == "gather":
        return inputs[0] // shape[record["axis"]] * inputs[1]
    if record["kind"] == "pad":
        steps = record.get("steps", [1] * len(shape))
        return math.prod(-(-(size + before + after) // step) for size, before, after, step in
                         zip(shape, record["starts"], record["sizes"], steps))
    return sum(inputs)


def check(record):
    """Returns the fields that the graph contradicts, as text."""
    facts = READERS[record["problem"]](record, Text(record["graph"]))
    known = {**record, **derived(record)}
    return [f"{name}: {known.get(name)} in the fields, {value} in the graph"
            for name, value in facts.items() if known.get(name) != value]
