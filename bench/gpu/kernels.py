#!/usr/bin/env python3
"""Lists every distinct kernel of the bench models, as JSON Lines for plait-gpu-record.

The 14 models at batch 1 and three of them at 8 and 32, after the usual foldings, and what rewrites
make of them: merged and padded-merged convolutions, Q/K/V merges, fused forms, depthwise and
pointwise in one. Needs onnx and numpy; no parameters are drawn, so it takes seconds.
"""

import argparse
import collections
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import folding  # noqa: E402 (found through the line above)
import kernel_forms  # noqa: E402
import kernel_merges  # noqa: E402
import kernel_movement  # noqa: E402
import kernel_text  # noqa: E402
import model_graph  # noqa: E402

SKELETONS = model_graph.MODELS / "skeletons"
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
FAMILIES = ("conv", "separable_conv", "matmul", "attention", "pool", "reduce", "softmax",
            "layer_norm", "scale_shift", "elementwise", "transpose", "concat", "slice", "gather",
            "pad")


def kernels_of(graph):
    """Yields every kernel of a loaded model, equal ones as often as they occur."""
    folded = folding.fold(graph)
    links = {"producers": folded.producers(), "users": folded.users()}
    kernels = [kernel for node in folded.nodes for kernel in _kernels_at(folded, links, node)]
    taken_in = {id(node) for kernel in kernels if kernel.family in ("conv", "matmul")
                and kernel.origin == "model" for node in kernel.nodes}
    for kernel in kernels:
        if kernel.family == "elementwise":
            kernel.partial = any(id(node) in taken_in for node in kernel.nodes)
        yield folded, kernel
    for kernel in kernel_merges.merge_kernels(folded, links):
        yield folded, kernel
    fused = folding.fold_attention(folded)
    for node in fused.nodes:
        for kernel in kernel_movement.attention_kernels(fused, node):
            yield fused, kernel


def _kernels_at(graph, links, node):
    if node.op == "Conv":
        yield from kernel_forms.conv_kernels(graph, links, node)
    if node.op in ("MatMul", "Gemm"):
        yield from kernel_forms.gemm_kernels(graph, links, node)
    yield from kernel_movement.pool_kernels(graph, node)
    yield from kernel_movement.row_kernels(graph, links, node)
    yield from kernel_movement.elementwise_kernels(graph, links, node)
    yield from kernel_movement.movement_kernels(graph, node)


def priority_of(name, batch, kernel):
    """What to record first: 0 what the seeds would run at batch 1; later what fewer tables need."""
    is_plain = kernel.origin == "model" and not kernel.partial
    if batch != 1:
        return 5 + LARGE_BATCHES.index(batch) + (0 if is_plain else 2)
    if name in SEEDS:
        return 0 if is_plain else 1
    if name in NEXT:
        return 2
    return 3 if is_plain else 4


def add_model(records, graph, name, batch=1):
    """Adds the model's kernels to `records`, which maps graph texts to lines."""
    label = name if batch == 1 else f"{name}@{batch}"
    for owner, kernel in kernels_of(graph):
        text = kernel_text.kernel_text(owner, kernel.nodes, kernel.outputs)
        inputs = kernel_text.kernel_inputs(owner, kernel.nodes)
        count = len(inputs) + len(kernel.outputs)
        record = records.setdefault((kernel.family, text), {
            "family": kernel.family, "graph": text, "formats": ",".join(["plain"] * count),
            "cold_weights": True, **kernel.problem, "models": {}, "origin": kernel.origin,
            "priority": priority_of(name, batch, kernel)})
        record["models"][label] = record["models"].get(label, 0) + 1
        if kernel.origin == "model":
            record["origin"] = "model"
        record["priority"] = min(record["priority"], priority_of(name, batch, kernel))


def ordered(records):
    """The lines by priority; within one by the order in which the models bring them."""
    return sorted(records.values(), key=lambda record: record["priority"])


def list_models():
    """Returns the kernels of the bench models."""
    records = {}
    for name in MODELS:
        model = model_graph.read_model(SKELETONS / f"{name}.skeleton")
        add_model(records, model_graph.load(model), name)
    for batch in LARGE_BATCHES:
        for name in SEEDS:
            model = model_graph.read_model(SKELETONS / f"{name}.skeleton")
            add_model(records, model_graph.load(model, batch), name, batch)
    return ordered(records)


def list_tiny():
    """Returns the kernels of light models, and at least one kernel of every family."""
    import light  # found through model_graph; draws parameters, which the real list never does
    records = {}
    for name in TINY_MODELS:
        add_model(records, model_graph.load(light.build(name)), name)
    filler = {}
    model = model_graph.read_model(SKELETONS / f"{TINY_FILLER}.skeleton")
    add_model(filler, model_graph.load(model), TINY_FILLER)
    for family in FAMILIES:
        if not any(key[0] == family for key in records):
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
    arguments = parser.parse_args()
    records = list_tiny() if arguments.tiny else list_models()
    text = "".join(json.dumps(record, separators=(",", ":")) + "\n" for record in records)
    arguments.out.write_text(text)
    print(table(records))
    print(f"{arguments.out}: {len(records)} kernels, {len(text)} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
