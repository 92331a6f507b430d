#!/usr/bin/env python3
"""Optimizes models for a simulated GPU and replays their plans there, and prints a table.

For each model, and for the schedules sequential, nimble and plait:
  1. `plait optimize --device cuda:0` with a daemon and a worker of its own, on the simulated
     driver;
  2. `replay_plan`: the plan's CUDA graphs in another process, in random orders.
Models are full size unless REDUCED, --image or --share says how they are made smaller
(bench/models/reduce.py). Nothing of it is measured on a GPU: the search's times are model:h200's.

    python bench/simulated_gpu/simulate.py build/models/*.onnx --out build/simulated [--json FILE]

Columns: kernels, graph nodes and edges by schedule; calls of one replay; random orders, of which
each is proved to have no race, and those that gave other bits; the largest error against the
reference backend, by the largest value of the output; seconds of one execution on the simulator.
A row ends in what failed.
Exit codes: 0 all well, 1 a model failed, 2 usage.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench" / "models"))

import onnx  # noqa: E402 (behind the line above, as what follows)

import reduce  # noqa: E402

SCHEDULES = ("sequential", "nimble", "plait")
# What is run of models of which one execution takes over a minute (--full runs them whole).
REDUCED = {
    "nasnet_large": {"image": 64},
}
# Models with work for several streams: the schedules' graphs have edges of their own.
BRANCHED = ("inception_v3", "nasnet_mobile", "nasnet_large")
STEP_SECONDS_MAX = 1800
REL_ERROR_MAX = 1e-4


class StepFailure(Exception):
    """A step ended with an error; the message is its last line."""


def run(*words, **variables):
    """The standard output of a program."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          timeout=STEP_SECONDS_MAX, check=False, env={**os.environ, **variables})
    if done.returncode != 0:
        lines = (done.stderr.strip() or "no message").splitlines()
        raise StepFailure(f"{pathlib.Path(words[0]).name}: exit code {done.returncode}: "
                          f"{lines[-1]}")
    return done.stdout


def smaller(arguments, source):
    """The file that is run, and how it differs from the model's."""
    wanted = {name: value for name, value in
              (("image", arguments.image), ("share", arguments.share)) if value}
    size = wanted or ({} if arguments.full else REDUCED.get(source.stem, {}))
    if not size:
        return source, "full"
    target = arguments.out / "reduced" / source.name
    target.parent.mkdir(parents=True, exist_ok=True)
    model = reduce.reduced(onnx.load(str(source)), **size)
    target.write_bytes(model.SerializeToString(deterministic=True))
    return target, "reduced: " + ", ".join(f"{name} {value}" for name, value in size.items())


def optimize(arguments, model, schedule):
    """The report of a job on the simulated device, and the file that it wrote."""
    target = arguments.out / schedule / model.name
    target.parent.mkdir(parents=True, exist_ok=True)
    text = run(arguments.build / "plait", "optimize", model, "-o", target, "--device", "cuda:0",
               "--schedule", schedule, "--budget", arguments.budget, "--no-result-cache",
               "--cache-dir", arguments.out / "cache", "--json",
               LD_LIBRARY_PATH=str(arguments.build / "simulated_gpu"),
               PLAIT_RUNTIMES_PYTHON="none")
    return json.loads(text), target


def examine(arguments, source):
    """What is known of a model, and what is wrong with it, in words."""
    model, size = smaller(arguments, source)
    reports, files = zip(*(optimize(arguments, model, schedule) for schedule in SCHEDULES))
    lines = run(arguments.build / "replay_plan", model, "--extensions", arguments.extensions,
                *files).splitlines()
    replays = [json.loads(line) for line in lines]
    entry = {"size": size, "nodes": reports[0]["model"]["nodes"],
             "opaque_nodes": len(reports[0]["model"]["opaque_nodes"]),
             "verdicts": [report["equivalence"]["verdict"] for report in reports],
             "origins": [report["optimized"]["origin"] for report in reports],
             "replays": dict(zip(SCHEDULES, replays))}
    entry["wrong"] = wrong_of(source.stem, entry, replays)
    return entry


def wrong_of(name, entry, replays):
    wrong = []
    if name in BRANCHED and len({replay["graph_edges"] for replay in replays}) < len(SCHEDULES):
        wrong.append("schedules with the same edges")
    if set(entry["verdicts"]) != {"equivalent"}:
        wrong.append("verdicts " + " ".join(entry["verdicts"]))
    if entry["opaque_nodes"]:
        wrong.append(f"{entry['opaque_nodes']} opaque nodes")
    for replay in replays:
        if replay["extensions_that_differ"] or replay["violations"]:
            wrong.append("orders differ or race")
        if replay["launches"] != replay["graphs"] or replay["allocations"] or replay["frees"]:
            wrong.append("a replay calls more than one launch for each graph")
        # What is not compared, such as NaN, has no error.
        if replay["verdict"] != "equivalent":
            wrong.append(f"{replay['verdict']} to the reference")
        if replay["max_rel_error"] > REL_ERROR_MAX:
            wrong.append(f"error {replay['max_rel_error']:.1e}")
    return sorted(set(wrong))


HEADER = ["model", "size", "nodes", "kernels", "host nodes", "graph nodes", "edges",
          "launches/allocations/frees", "orders run/differing", "error", "s", "wrong"]


def row_of(name, entry):
    replays = [entry["replays"][schedule] for schedule in SCHEDULES]
    last = replays[-1]

    def each(field):
        return " ".join(str(replay[field]) for replay in replays)

    hosts = sorted(set(last["host_operators"]))
    orders = sum(replay["extensions"] for replay in replays)
    differing = sum(replay["extensions_that_differ"] for replay in replays)
    error = max(replay["max_rel_error"] for replay in replays)
    return [name, entry["size"], str(entry["nodes"]), each("kernels"),
            f"{last['host_nodes']}" + (f" ({', '.join(hosts)})" if hosts else ""),
            each("graph_nodes"), each("graph_edges"),
            f"{last['launches']}/{last['allocations']}/{last['frees']}",
            f"{orders}/{differing}", f"{error:.1e}",
            f"{max(replay['seconds'] for replay in replays):.1f}", "; ".join(entry["wrong"])]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=pathlib.Path)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build" / "simulated")
    parser.add_argument("--budget", default="120s", help="of each job (120s)")
    parser.add_argument("--extensions", default="3", help="random orders of each plan (3)")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--full", action="store_true", help="reduce nothing")
    size.add_argument("--image", type=int, metavar="N", help="for images of N pixels high and wide")
    size.add_argument("--share", type=float, metavar="F", help="the first nodes, of all that share")
    parser.add_argument("--json", type=pathlib.Path, help="keeps everything")
    arguments = parser.parse_args()
    print("| " + " | ".join(HEADER) + " |\n|" + "---|" * len(HEADER), flush=True)
    entries, is_well = {}, True
    for source in arguments.models:
        try:
            entry = entries[source.stem] = examine(arguments, source)
            row = row_of(source.stem, entry)
            is_well = is_well and not entry["wrong"]
        except (StepFailure, reduce.NotReducible, onnx.shape_inference.InferenceError,
                subprocess.TimeoutExpired) as error:
            row = [source.stem] + [""] * (len(HEADER) - 2) + [str(error)]
            is_well = False
        print("| " + " | ".join(row) + " |", flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(entries, indent=1, sort_keys=True) + "\n")
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(main())
