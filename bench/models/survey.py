#!/usr/bin/env python3
"""Says how well plait understands models: a line for each, as a Markdown table.

    survey.py [--plait build/plait] [--budget 20s] MODEL.onnx ...

For each model: how many nodes plait does not understand (opaque) and how many run by reference code
(fallback), the largest error of its outputs against ONNX Runtime's on the same inputs, relative to
the output's largest number, what plait gained, and the time that ONNX Runtime took beside. Outputs
are those of ONNX Runtime without its optimizations: quantized models give others with them. Times
are what the machine gave while the survey ran: `bench/peers` measures, this finds what to look at.

Exit code 1: a model was not read, has opaque nodes, or has other outputs than in ONNX Runtime.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

import export_common
import sample_inputs

BUILD = pathlib.Path(__file__).resolve().parent.parent.parent / "build"
ERROR_MAX = 1e-3
RUNS_OF_ONNX_RUNTIME = 9
COLUMNS = ("model", "nodes", "opaque", "fallback", "error", "original us", "returned us",
           "speed-up", "ONNX Runtime us")


class Failed(Exception):
    """What plait said about a model that it does not run."""


def call(command):
    """Returns the JSON that a verb prints. Errors: Failed with the line that says why."""
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        lines = result.stderr.strip().splitlines() or [f"exit code {result.returncode}"]
        raise Failed(lines[-1])
    return json.loads(result.stdout)


def run_in_onnx_runtime(path, feeds):
    """Returns the outputs by name and the median time in microseconds."""
    plain = export_common.open_session(path, optimizes=False)
    names = [info.name for info in plain.get_outputs()]
    outputs = plain.run(names, feeds)
    del plain
    session = export_common.open_session(path)
    session.run(names, feeds)
    times = []
    for _ in range(RUNS_OF_ONNX_RUNTIME):
        began = time.perf_counter()
        session.run(names, feeds)
        times.append((time.perf_counter() - began) * 1e6)
    return dict(zip(names, outputs)), statistics.median(times)


def file_name(tensor):
    """Returns the name that `plait run` gives to a tensor's file."""
    return tensor.replace("/", "_").replace(":", "_") + ".npy"


def error_against(plait, path, feeds, expected, folder):
    """Runs the model in plait and returns the largest error of its outputs."""
    inputs, outputs = folder / "inputs", folder / "outputs"
    inputs.mkdir()
    for name, array in feeds.items():
        np.save(inputs / file_name(name), array)
    call([plait, "run", str(path), "--inputs", str(inputs), "--outputs", str(outputs), "--json"])
    errors = []
    for name, theirs in expected.items():
        ours = np.load(outputs / file_name(name)).astype(np.float64)
        theirs = theirs.astype(np.float64)
        if ours.shape != theirs.shape or not np.isfinite(ours).all():
            return float("inf")
        largest = max(np.abs(theirs).max(initial=0), np.finfo(np.float32).tiny)
        errors.append(np.abs(ours - theirs).max(initial=0) / largest)
    return max(errors)


def survey(path, arguments):
    """Returns the model's line and whether all is well with it."""
    session = export_common.open_session(path)
    feeds = sample_inputs.session_inputs(session, 1)
    del session
    expected, peer_us = run_in_onnx_runtime(path, feeds)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        report = call([
            arguments.plait, "optimize", str(path), "-o", str(folder / "out.onnx"), "--json",
            "--budget", arguments.budget, "--search", arguments.search, "--no-result-cache"])
        opaque = len(report["model"]["opaque_nodes"])
        before, after = report["baseline"], report["optimized"] or report["baseline"]
        error = float("nan")
        if opaque == 0:
            error = error_against(arguments.plait, folder / "out.onnx", feeds, expected, folder)
    line = (path.name.removesuffix(".onnx"), report["model"]["nodes"], opaque,
            before["fallback_nodes"], f"{error:.1e}", f"{before['latency_us_median']:.0f}",
            f"{after['latency_us_median']:.0f}", f"{report['speedup'] or 1:.2f}", f"{peer_us:.0f}")
    return line, opaque == 0 and error <= ERROR_MAX


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=pathlib.Path, metavar="MODEL")
    parser.add_argument("--plait", default=str(BUILD / "plait"))
    parser.add_argument("--budget", default="20s", help="of each model (20s)")
    parser.add_argument("--search", default="plait", help="none: the original's own plan")
    arguments = parser.parse_args()
    print("| " + " | ".join(COLUMNS) + " |\n|" + "---|" * len(COLUMNS), flush=True)
    all_is_well = True
    for path in arguments.models:
        try:
            line, is_well = survey(path, arguments)
        except Failed as error:
            line, is_well = (path.name.removesuffix(".onnx"), str(error)), False
        all_is_well = all_is_well and is_well
        print("| " + " | ".join(map(str, line)) + " |", flush=True)
    return 0 if all_is_well else 1


if __name__ == "__main__":
    sys.exit(main())
