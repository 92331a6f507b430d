#!/usr/bin/env python3
"""Times an optimized file as its callers run it: `plait bench`, a C program, and Python.

callers.py FASTER.onnx... loads each file anew for every turn, and the callers take turns, in an
order of the round's own:
  bench         `plait bench`, whose threads stay on a processor each
  c pinned      runtime/examples/c/latency.c with -p, the same
  c             without: the system places the threads, as beside a program's others
  session       plait.InferenceSession of the wheel installed beside the peers, bound buffers
  onnxruntime   as bench/peers has it, to see what loading takes there
  openvino      the same, where it is installed

    cmake --install build --prefix build/installed --component runtime
    cmake --install build --prefix build/installed --component dev
    cc runtime/examples/c/latency.c -o build/latency -Ibuild/installed/include \\
        -Lbuild/installed/lib -lplait_runtime -Wl,-rpath,$PWD/build/installed/lib
    build/venv-peers/bin/python bench/peers/callers.py FASTER.onnx

A turn is taken again where the machine was disturbed, and a round whose turn never was undisturbed
does not count, as in peers.py.

Columns: milliseconds, the median over the turns; that time over `plait bench`'s with its 95 %
interval; milliseconds of loading with the first run, where the caller tells; MiB that the caller's
package takes where it is installed, with the libraries that it brings and, of plait, its programs,
but without other packages that it needs. --json keeps them, with every round.

Exit codes: 0 all were timed, 1 a caller failed or no round counts, 2 usage.
"""

import argparse
import contextlib
import dataclasses
import functools
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

import onnx

import interleaved
import machine_watch
import moved  # finds the folder of models
import participants
import records
import report
import sample_inputs

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAUSE_S = 0.2


def output_of(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          timeout=moved.TIMEOUT_S, check=False)
    if done.returncode != 0:
        words = (done.stderr.strip() or "no message").splitlines()
        raise participants.ParticipantFailure(words[-1])
    return done.stdout


def bench(arguments, model, inputs, runs):
    """`plait bench` draws its own inputs, as the C program does."""
    del inputs
    told = json.loads(output_of(arguments.plait, "bench", model, "--json", "--rounds", runs,
                                "--threads", arguments.threads))
    return told["models"][0]["latency_us_median"], None


def c_program(*options):
    def turn(arguments, model, inputs, runs):
        del inputs
        return float(output_of(arguments.latency, *options, model, runs).split()[0]), None
    return turn


def python(library):
    def turn(arguments, model, inputs, runs):
        with moved.Child(library, arguments.threads, []) as child:
            loaded = child.participant.load(model.resolve(), inputs)
            return child.typical_us(runs), loaded.load_ms
    return turn


CALLERS = {"bench": bench, "c pinned": c_program("-p"), "c": c_program(),
           "session": python("plait"), "onnxruntime": python("onnxruntime"),
           "openvino": python("openvino")}
PACKAGES = {"session": "plait", "onnxruntime": "onnxruntime", "openvino": "openvino"}


def measure(arguments, model, inputs):
    """The rounds, and in each what every caller's turn took: microseconds of a run, milliseconds
    of loading or None."""
    first, _ = bench(arguments, model, inputs, moved.RUNS_MIN)
    runs = max(moved.RUNS_MIN, min(moved.RUNS_MAX, int(arguments.turn_ms * 1000 / first)))
    turns = {name: functools.partial(turn, arguments, model, inputs, runs)
             for name, turn in CALLERS.items()
             if name != "openvino" or records.library_version(name)}
    taken, entries = [], []
    watch = machine_watch.MachineWatch()
    with contextlib.ExitStack() as stack:
        watch.start(arguments, stack)
        for number in range(arguments.turns):
            round_taken, entry = interleaved.take_round(turns, watch, PAUSE_S, number)
            taken.append(round_taken)
            entries.append(entry)
    return taken, entries


def figures_of(model, taken, entries):
    """What follows from the rounds that count, and all of them; no caller has figures where none
    counts."""
    kept = interleaved.counted(taken, entries)
    callers = {name: {
        "latency_us_median": statistics.median(turn[name][0] for turn in kept),
        "ratio": report.ratio_figures([turn[name][0] / turn["bench"][0] for turn in kept]),
        "load_ms": None if kept[0][name][1] is None
        else statistics.median(turn[name][1] for turn in kept),
        "installed_bytes": records.installed_bytes(PACKAGES.get(name)),
    } for name in CALLERS if name in kept[0]} if kept else {}
    return {"name": model.stem, "digest": records.digest(model), "callers": callers,
            "turns": taken,
            "rounds_told": interleaved.told(entries),
            "rounds": [dataclasses.asdict(entry) for entry in entries]}


def table_of(figures):
    yield f"{figures['name']:<24} {'ms':>9}  {'by plait bench':<24} {'load ms':>8} {'MiB':>6}"
    for name, caller in figures["callers"].items():
        load = "-" if caller["load_ms"] is None else f"{caller['load_ms']:.0f}"
        size = caller["installed_bytes"]
        installed = "-" if size is None else f"{size / 2**20:.1f}"
        yield (f"  {name:<22} {caller['latency_us_median'] / 1000:>9.3f}  "
               f"{report.interval(caller['ratio']):<24} {load:>8} {installed:>6}")
    yield f"  {'' if figures['callers'] else 'nothing follows: '}{figures['rounds_told']}"


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=pathlib.Path, metavar="FASTER.onnx")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--turns", type=int, default=15, help="of each caller (15)")
    parser.add_argument("--turn-ms", type=float, default=400.0, help="length of a turn (400)")
    parser.add_argument("--plait", type=pathlib.Path, default=ROOT / "build" / "plait",
                        metavar="PROGRAM", help="the plait program (build/plait)")
    parser.add_argument("--latency", type=pathlib.Path, default=ROOT / "build" / "latency",
                        metavar="PROGRAM", help="the C program (build/latency)")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="also write the figures")
    arguments = parser.parse_args()
    for path in (*arguments.models, arguments.plait, arguments.latency):
        if not path.is_file():
            parser.error(f"no such file: {path}")
    return arguments


def main():
    arguments = parse()
    entries = []
    for model in arguments.models:
        with tempfile.TemporaryDirectory() as folder:
            feeds = sample_inputs.model_inputs(onnx.load(str(model)), seed=1)
            moved.save_inputs(feeds, folder)
            try:
                taken, rounds = measure(arguments, model, pathlib.Path(folder))
            except participants.ParticipantFailure as failure:
                print(f"callers.py: {model}: {failure}", file=sys.stderr)
                return 1
        entries.append(figures_of(model, taken, rounds))
        print("\n".join(table_of(entries[-1])), flush=True)
    if arguments.json:
        head = records.head(arguments.plait, PACKAGES.values(),
                            {"latency": arguments.latency})
        options = {option: getattr(arguments, option) for option in ("threads", "turns", "turn_ms")}
        arguments.json.write_text(json.dumps(
            head | {"options": options, "models": entries}, indent=1) + "\n")
    return 0 if all(entry["callers"] for entry in entries) else 1


if __name__ == "__main__":
    sys.exit(main())
