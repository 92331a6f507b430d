"""The kernel list: how many kernels of each family, and that graphs and fields say the same."""

import collections
import json
import pathlib
import subprocess
import sys

import pytest

import graph_facts
import kernels

KERNELS = pathlib.Path(kernels.__file__)

# family: (in models, made by rewrites)
GOLDEN = {
    "attention": (6, 8), "conv": (887, 195), "separable": (94, 0), "matmul": (65, 21),
    "elementwise": (605, 84), "scale_shift": (124, 0), "rows": (19, 0), "pool": (86, 14),
    "move": (176, 93), "recurrence": (7, 0)}


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
    keys = [(record["family"], record["graph"], record["formats"]) for record in listed]
    assert len(keys) == len(set(keys))


def test_seed_models_come_first(listed):
    priorities = [record["priority"] for record in listed]
    assert priorities == sorted(priorities)
    first = [record for record in listed if record["priority"] == 0]
    assert all(set(record["models"]) & set(kernels.SEEDS) for record in first)
    # What plans run: convolutions with what follows them.
    convs = [record for record in first if record["problem"] == "conv"
             and "resnet50" in record["models"]]
    assert any(record["residual"] and record["activation"] == "relu" for record in convs)
    assert {"conv", "matmul", "attention", "pool", "rows"} <= {r["family"] for r in first}


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
    assert {2 * 768, 3 * 768} <= widths
    # Mixed_5b of Inception-v3: 64, 48 and 64 channels of 1x1.
    merged = {record["k"] for record in rewrites if record["problem"] == "conv"
              and (record["c"], record["h"], record["r"]) == (192, 35, 1)}
    assert {112, 128, 176} <= merged
    assert any(record["problem"] == "conv" and record["r"] == 3 and record["k"] == 64 + 64
               and "squeezenet" in record["models"] for record in rewrites)


def test_parameters_without_values_stay_different():
    model = kernels.bench_model("squeezenet")
    fills = [node for node in model.graph.node if node.name.endswith("/fill")]
    values = {tuple(node.attribute[0].t.float_data) for node in fills}
    assert len(fills) == len(values) > 20
    assert {node.output[0] for node in fills}.isdisjoint(
        tensor.name for tensor in model.graph.initializer)


def test_the_same_call_writes_the_same_bytes(tmp_path):
    texts = []
    for index in (0, 1):
        out = tmp_path / f"{index}.jsonl"
        subprocess.run([sys.executable, str(KERNELS), "--tiny", "-o", str(out)], check=True,
                       capture_output=True, env={"PYTHONHASHSEED": str(index)})
        texts.append(out.read_bytes())
    assert texts[0] == texts[1]
    assert all(json.loads(line)["graph"].startswith("graph {") for line in texts[0].splitlines())
