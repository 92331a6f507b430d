"""The kernel list: how many kernels of each family, and that graphs and fields say the same."""

import collections
import json
import pathlib
import subprocess
import sys

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import folding
import graph_facts
import kernel_text
import kernels
import model_graph

KERNELS = pathlib.Path(kernels.__file__)

# family: (in models, made by rewrites)
GOLDEN = {
    "conv": (843, 766), "separable_conv": (0, 245), "matmul": (65, 19), "attention": (6, 0),
    "pool": (73, 20), "reduce": (21, 0), "softmax": (7, 0), "layer_norm": (6, 6),
    "scale_shift": (134, 0), "elementwise": (495, 0), "transpose": (22, 0), "concat": (108, 0),
    "slice": (2, 164), "gather": (9, 0), "pad": (24, 0)}


@pytest.fixture(scope="module")
def listed():
    return kernels.list_models()


@pytest.fixture(scope="module")
def tiny():
    return kernels.list_tiny()


def counts(records):
    found = collections.Counter((record["family"], record["origin"]) for record in records)
    return {family: (found[family, "model"], found[family, "rewrite"])
            for family in kernels.FAMILIES}


def test_golden_counts(listed):
    assert counts(listed) == GOLDEN


def test_tiny_has_every_family(tiny):
    missing = [family for family, pair in counts(tiny).items() if sum(pair) == 0]
    assert missing == []


def test_graphs_have_the_shapes_of_their_fields(listed, tiny):
    faults = [f"{record['graph']}{fault}" for record in listed + tiny
              for fault in graph_facts.check(record)]
    assert faults == []


@pytest.mark.parametrize("field, value", [("c", 5), ("stride", [3, 1]), ("bias", False),
                                          ("pad", [0, 0, 0, 0]), ("prologue_relu", True)])
def test_the_shape_check_finds_a_wrong_field(listed, field, value):
    record = next(record for record in listed if record["problem"] == "conv" and record["bias"]
                  and record["pad"] == [1, 1, 1, 1] and not record["prologue_relu"])
    assert graph_facts.check(record) == []
    assert graph_facts.check({**record, field: value}) != []


def test_activations_stand_in_the_graph(listed):
    operator = {"relu": "Relu", "relu6": "Clip", "gelu": "Gelu", "gelu_tanh": "Gelu",
                "silu": "Swish", "sigmoid": "Sigmoid", "tanh": "Tanh"}
    seen = set()
    for record in listed:
        activation = record.get("activation", "none")
        if activation != "none" and record["problem"] in ("conv", "gemm", "scale_shift"):
            seen.add(activation)
            last = graph_facts.Text(record["graph"]).nodes[-1]
            assert last[0] == operator[activation], record["graph"]
    assert {"relu", "relu6", "gelu", "silu", "sigmoid"} <= seen


def test_kernels_are_distinct(listed):
    graphs = [record["graph"] for record in listed]
    assert len(graphs) == len(set(graphs))


def test_seed_models_come_first(listed):
    priorities = [record["priority"] for record in listed]
    assert priorities == sorted(priorities)
    first = [record for record in listed if record["priority"] == 0]
    assert all(set(record["models"]) & set(kernels.SEEDS) for record in first)
    # Every convolution of ResNet-50 but the four in the shortcuts ends in a relu. Those four add
    # what the block computed, and what the block ends in adds them: either can be the last.
    convs = [record for record in first if record["problem"] == "conv"
             and "resnet50" in record["models"]]
    assert {record["activation"] for record in convs} == {"relu"}
    assert any(record["residual"] for record in convs)
    assert {"conv", "matmul", "attention", "pool", "layer_norm"} <= {r["family"] for r in first}


def test_batches_of_bert(listed):
    products = {record["m"]: record for record in listed if record["problem"] == "gemm"
                and record["weights"] and (record["n"], record["k"]) == (3072, 768)}
    assert products[128]["models"].keys() >= {"bert_base"}
    assert products[1024]["models"].keys() == {"bert_base@8"}
    assert products[4096]["models"].keys() == {"bert_base@32"}
    attention = {record["batch"] for record in listed if record["family"] == "attention"}
    assert {1, 8, 32} <= attention


def test_what_rewrites_make(listed):
    rewrites = [record for record in listed if record["origin"] == "rewrite"]
    widths = {record["n"] for record in rewrites if record["problem"] == "gemm"
              and "bert_base" in record["models"]}
    assert widths == {2 * 768, 3 * 768}
    # Mixed_5b of Inception-v3: 64, 48 and 64 channels of 1x1, and 32 behind the average pool.
    merged = {record["k"] for record in rewrites if record["problem"] == "conv"
              and (record["c"], record["h"], record["r"]) == (192, 35, 1)}
    assert {112, 128, 176, 208} <= merged
    assert any(record["problem"] == "conv" and record["r"] == 3 and record["k"] == 64 + 64
               and "squeezenet" in record["models"] for record in rewrites)
    assert any(record["family"] == "layer_norm" and record["residual"] for record in rewrites)


def test_the_same_call_writes_the_same_bytes(tmp_path):
    texts = []
    for index in (0, 1):
        out = tmp_path / f"{index}.jsonl"
        subprocess.run([sys.executable, str(KERNELS), "--tiny", "-o", str(out)], check=True,
                       capture_output=True, env={"PYTHONHASHSEED": str(index)})
        texts.append(out.read_bytes())
    assert texts[0] == texts[1]
    assert all(json.loads(line)["graph"].startswith("graph {") for line in texts[0].splitlines())


def test_numbers_are_printed_as_plait_prints_them():
    texts = {0.125: "0.125", 1e-12: "1e-12", 1e-05: "1e-05", -3.4028235e38: "-3.4028235e+38",
             0.0: "0", 100000.0: "1e+05", 1234567.0: "1234567", float("inf"): "0x7f800000"}
    assert {value: kernel_text.float_text(value) for value in texts} == texts
    assert kernel_text.attribute_text(1.0) == "1.0"
    assert kernel_text.attribute_text(b"none") == '"none"'


def gelu_model(root):
    """x * 0.5 * (1 + erf(x / root))"""
    constants = {"root": root, "one": 1.0, "half": 0.5}
    nodes = [helper.make_node("Div", ["x", "root"], ["a"]), helper.make_node("Erf", ["a"], ["e"]),
             helper.make_node("Add", ["e", "one"], ["p"]),
             helper.make_node("Mul", ["x", "p"], ["m"]),
             helper.make_node("Mul", ["m", "half"], ["y"])]
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 8]) for name in "xy"]
    initializers = [numpy_helper.from_array(np.float32(value), name)
                    for name, value in constants.items()]
    graph = helper.make_graph(nodes, "g", infos[:1], infos[1:], initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


@pytest.mark.parametrize("root, operators", [
    (1.4142135, ["Gelu"]), (1.5, ["Div", "Erf", "Add", "Mul", "Mul"])])
def test_gelu_is_folded_only_when_it_is_one(root, operators):
    graph = folding.fold(model_graph.load(gelu_model(root)))
    assert [node.op for node in graph.nodes] == operators
