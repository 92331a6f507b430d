#!/usr/bin/env python3
"""Times an optimized file as its callers run it: `plait bench`, a C program, and Python.

callers.py FASTER.onnx... loads each file anew for every turn, and the callers take turns:
  bench         `plait bench`, whose threads stay on a processor each
  c pinned      runtime/examples/c/latency.c with -p, the same
  c             without: the system places the threads, as beside a program's others
  session       plait.InferenceSession of the wheel installed beside the peers, bound buffers
  onnxruntime   as bench/peers has it, to see what loading takes there

    cmake --install build --prefix build/installed --component runtime
    cmake --install build --prefix build/installed --component dev
    cc runtime/examples/c/latency.c -o build/latency -Ibuild/installed/include \\
        -Lbuild/installed/lib -lplait_runtime -Wl,-rpath,$PWD/build/installed/lib
    build/venv-peers/bin/python bench/peers/callers.py FASTER.onnx

A turn is taken again where the machine was disturbed, as in peers.py.

Columns: milliseconds, the median over the turns; that time over `plait bench`'s with its 95 %
interval; milliseconds of loading with the first run, where the caller tells.

Exit codes: 0 all were timed, 1 a caller failed, 2 usage.
"""

import argparse
import contextlib
import functools
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

import onnx

import machine_watch
import moved  # finds the folder of models
import participants
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
           "session": python("plait"), "onnxruntime": python("onnxruntime")}


def measure(arguments, model, inputs):
    """Caller to its medians in microseconds, and to what loading took."""
    turns = {name: [] for name in CALLERS}
    loads = {name: [] for name in CALLERS}
    first, _ = bench(arguments, model, inputs, moved.RUNS_MIN)
    runs = max(moved.RUNS_MIN, min(moved.RUNS_MAX, int(arguments.turn_ms * 1000 / first)))
    watch = machine_watch.MachineWatch()
    with contextlib.ExitStack() as stack:
        watch.start(arguments, stack)
        for _ in range(arguments.turns):
            for name, turn in CALLERS.items():
                (latency_us, load_ms), _ = watch.take(
                    functools.partial(turn, arguments, model, inputs, runs), PAUSE_S)
                turns[name].append(latency_us)
                loads[name].append(load_ms)
    return turns, loads


def print_table(model, turns, loads):
    print(f"{model.stem:<24} {'ms':>9}  {'by plait bench':<24} load ms")
    for name, values in turns.items():
        ratio = report.ratio_figures([us / other for us, other in zip(values, turns["bench"])])
        load = "-" if loads[name][0] is None else f"{statistics.median(loads[name]):.0f}"
        print(f"  {name:<22} {statistics.median(values) / 1000:>9.3f}  "
              f"{report.interval(ratio):<24} {load}", flush=True)


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
    arguments = parser.parse_args()
    for path in (*arguments.models, arguments.plait, arguments.latency):
        if not path.is_file():
            parser.error(f"no such file: {path}")
    return arguments


def main():
    arguments = parse()
    for model in arguments.models:
        with tempfile.TemporaryDirectory() as folder:
            feeds = sample_inputs.model_inputs(onnx.load(str(model)), seed=1)
            moved.save_inputs(feeds, folder)
            try:
                print_table(model, *measure(arguments, model, pathlib.Path(folder)))
            except participants.ParticipantFailure as failure:
                print(f"callers.py: {model}: {failure}", file=sys.stderr)
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
