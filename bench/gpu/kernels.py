#!/usr/bin/env python3
"""Lists every distinct kernel of the bench models, as JSON Lines for plait-gpu-record.

The 14 models at batch 1 and three of them at 8 and 32. Which kernels there are says `plait
kernels`, from what the cuda backend offers; here they are put together and in order. Needs plait,
onnx and numpy; no parameters are drawn, so it takes little time.
"""

import argparse
import collections
import json
import pathlib
import subprocess
import sys
import tempfile

from onnx import TensorProto, helper

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(ROOT / "bench" / "models")]

import batch as batches  # noqa: E402 (found through the line above)
import light  # noqa: E402
import skeleton  # noqa: E402

PLAIT = ROOT / "build" / "plait"
SKELETONS = ROOT / "bench" / "models" / "skeletons"
SEEDS = ("resnet50", "inception_v3", "bert_base")
NEXT = ("rnntc_sru", "resnext50", "nasnet_mobile")
MODELS = SEEDS + NEXT + (
    "bert_large", "densenet121", "efficientnet_b0", "gpt2", "mobilenet_v2", "nasnet_large",
    "squeezenet", "vit_b_16")
LARGE_BATCHES = (8, 32)
TINY_MODELS = ("tiny_resnet", "tiny_inception", "tiny_nasnet", "tiny_bert", "tiny_gpt",
               "tiny_mobilenet", "tiny_sru", "tiny_densenet")
# Families that no tiny model has come from this one, the smallest kernel of each.
TINY_FILLER = "nasnet_mobile"
# All but resize and recurrent_layer, which none of the fourteen models has.
FAMILIES = ("attention", "conv", "separable", "matmul", "elementwise", "scale_shift", "rows",
            "pool", "move", "recurrence")


def hollow(model):
    """The model with large parameters as numbers that repeat: kernels do not depend on values.

    Each has a number of its own, or equal ones would be one parameter.
    """
    fills, kept = [], []

    def fill(tensor, name):
        value = 2.0 + len(fills) / 1024
        shape = helper.make_tensor(f"{name}/shape", TensorProto.INT64, [len(tensor.dims)],
                                   tensor.dims)
        filler = helper.make_tensor(f"{name}/value", TensorProto.FLOAT, [1], [value])
        fills.append((shape, helper.make_node(
            "ConstantOfShape", [shape.name], [name], name=f"{name}/fill", value=filler)))

    def is_empty(tensor):
        return tensor.data_type == TensorProto.FLOAT and all(tensor.dims) and \
            not (tensor.raw_data or tensor.float_data)

    for tensor in model.graph.initializer:
        if is_empty(tensor):
            fill(tensor, tensor.name)
        else:
            kept.append(tensor)
    nodes = []
    for node in model.graph.node:
        value = next((a.t for a in node.attribute if a.name == "value"), None)
        if node.op_type == "Constant" and value is not None and is_empty(value):
            fill(value, node.output[0])
        else:
            nodes.append(node)
    del model.graph.initializer[:], model.graph.node[:]
    model.graph.initializer.extend(kept + [shape for shape, _ in fills])
    model.graph.node.extend([node for _, node in fills] + nodes)
    filled = {node.output[0] for _, node in fills}
    inputs = [info for info in model.graph.input if info.name not in filled]
    del model.graph.input[:]
    model.graph.input.extend(inputs)
    return model


def bench_model(name, batch=1):
    """The ModelProto of a skeleton, without its parameters' values."""
    model, _ = skeleton.read_skeleton(SKELETONS / f"{name}.skeleton")
    return hollow(batches.with_batch(model, batch) if batch != 1 else model)


def lines_of(plait, model):
    """What `plait kernels` says of a ModelProto."""
    with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
        file.write(model.SerializeToString(deterministic=True))
        file.flush()
        done = subprocess.run([plait, "kernels", file.name, "--jsonl"], check=True,
                              stdout=subprocess.PIPE, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def priority_of(name, batch, line):
    """What to record first: 0 what the seeds would run at batch 1; later what fewer tables need."""
    if batch != 1:
        return 5 + LARGE_BATCHES.index(batch) + (0 if line["planned"] else 2)
    if name in SEEDS:
        return 0 if line["planned"] else 1
    if name in NEXT:
        return 2
    return 3 if line["planned"] else 4


def add_model(records, lines, name, batch=1):
    """Adds the model's lines to `records`, which maps families and graphs to lines."""
    label = name if batch == 1 else f"{name}@{batch}"
    for line in lines:
        priority = priority_of(name, batch, line)
        record = {key: value for key, value in line.items() if key not in ("count", "planned")}
        record = records.setdefault((line["family"], line["graph"], line["formats"]), {
            **record, "models": {}, "priority": priority})
        record["models"][label] = record["models"].get(label, 0) + line["count"]
        if line["origin"] == "model":
            record["origin"] = "model"
        record["priority"] = min(record["priority"], priority)


def ordered(records):
    """The lines by priority; within one by the order in which the models bring them."""
    return sorted(records.values(), key=lambda record: record["priority"])


def list_models(plait=PLAIT):
    """Returns the kernels of the bench models."""
    records = {}
    for batch in (1, *LARGE_BATCHES):
        for name in MODELS if batch == 1 else SEEDS:
            add_model(records, lines_of(plait, bench_model(name, batch)), name, batch)
    return ordered(records)


def list_tiny(plait=PLAIT):
    """Returns the kernels of light models, and at least one kernel of every family."""
    records = {}
    for name in TINY_MODELS:
        add_model(records, lines_of(plait, light.build(name)), name)
    filler = {}
    for family in FAMILIES:
        if any(key[0] == family for key in records):
            continue
        if not filler:
            add_model(filler, lines_of(plait, bench_model(TINY_FILLER)), TINY_FILLER)
        candidates = [item for item in filler.items() if item[0][0] == family]
        key, record = min(candidates, key=lambda item: len(item[0][1]))
        records[key] = record
    for record in records.values():
        record["priority"] = 0 if record["origin"] == "model" else 1
    return ordered(records)


def table(records):
    """The number of kernels per family and origin, as text."""
    counts = collections.Counter((record["family"], record["origin"]) for record in records)
    lines = [f"{'family':16}{'model':>8}{'rewrite':>9}{'first':>7}"]
    for family in FAMILIES:
        first = sum(1 for record in records
                    if record["family"] == family and record["priority"] <= 1)
        lines.append(f"{family:16}{counts[family, 'model']:8}{counts[family, 'rewrite']:9}"
                     f"{first:7}")
    lines.append(f"{'all':16}{sum(counts[f, 'model'] for f in FAMILIES):8}"
                 f"{sum(counts[f, 'rewrite'] for f in FAMILIES):9}"
                 f"{sum(1 for record in records if record['priority'] <= 1):7}")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--out", type=pathlib.Path, required=True, help="kernels.jsonl")
    parser.add_argument("--tiny", action="store_true", help="light models only")
    parser.add_argument("--plait", type=pathlib.Path, default=PLAIT,
                        help="the program (build/plait)")
    arguments = parser.parse_args()
    if not arguments.plait.is_file():
        parser.error(f"{arguments.plait} is not there; --plait names it")
    records = (list_tiny if arguments.tiny else list_models)(arguments.plait)
    text = "".join(json.dumps(record, separators=(",", ":")) + "\n" for record in records)
    arguments.out.write_text(text)
    print(table(records))
    print(f"{arguments.out}: {len(records)} kernels, {len(text)} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
