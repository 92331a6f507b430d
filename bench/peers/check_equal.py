#!/usr/bin/env python3
"""Compares two ONNX files by running both in ONNX Runtime on the same seeded inputs.

Prints max_rel_error: the largest |a-b| over the largest |a| of that output, of the worst output
and the worst input, where A is the original. Both files must also pass the onnx checker.

Exit codes: 0 equal within the tolerance, 1 a file does not load or run, 2 usage, 5 the outputs of
A are dead (constant or not finite) so that nothing can be said, 12 not equal.
"""

import argparse
import json
import pathlib
import statistics
import sys
import time

import numpy as np
import onnx
import onnxruntime

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "models"))
import sample_inputs  # noqa: E402 (found through the line above)

EXIT_EQUAL, EXIT_FAILED, EXIT_INCONCLUSIVE, EXIT_DIFFERENT = 0, 1, 5, 12


def open_checked(path, threads, optimized):
    """Returns a session for a file that the onnx checker accepts."""
    onnx.checker.check_model(str(path), full_check=True)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    levels = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = levels.ORT_ENABLE_ALL if optimized \
        else levels.ORT_DISABLE_ALL
    # Spinning threads of the idle session would slow the one being timed.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def interface_fault(a, b):
    """Returns why the two models cannot be fed and read alike, or None."""
    for kind in ("inputs", "outputs"):
        ours, theirs = (sorted(value.name for value in getattr(session, f"get_{kind}")())
                        for session in (a, b))
        if ours != theirs:
            return f"{kind} differ: {', '.join(ours)} against {', '.join(theirs)}"
    return None


def relative_error(a, b):
    """Returns max |a-b| / max |a|, infinite where shapes or non-finite places differ."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return float("inf")
    if a.size == 0:
        return 0.0
    a, b = a.astype(np.float64), b.astype(np.float64)
    finite = np.isfinite(a)
    if not np.array_equal(finite, np.isfinite(b)) or \
            not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return float("inf")
    difference = np.abs(a[finite] - b[finite]).max(initial=0.0)
    if difference == 0.0:
        return 0.0
    largest = np.abs(a)[finite].max(initial=0.0)
    return float(difference / largest) if largest > 0 else float("inf")


def compare(a, b, seeds, dynamic_size):
    """Returns output name to worst relative error over the seeds."""
    names = [value.name for value in a.get_outputs()]
    errors = dict.fromkeys(names, 0.0)
    for seed in seeds:
        feeds = sample_inputs.session_inputs(a, seed, dynamic_size)
        for name, ours, theirs in zip(names, a.run(names, feeds), b.run(names, feeds)):
            errors[name] = max(errors[name], relative_error(ours, theirs))
    return errors


def time_interleaved(a, b, rounds, runs, dynamic_size):
    """Returns both latencies in microseconds, medians of rounds that take turns."""
    feeds = sample_inputs.session_inputs(a, 0, dynamic_size)
    medians = ([], [])
    for _ in range(rounds):
        for session, collected in zip((a, b), medians):
            session.run(None, feeds)
            samples = []
            for _ in range(runs):
                began = time.perf_counter_ns()
                session.run(None, feeds)
                samples.append((time.perf_counter_ns() - began) / 1000)
            collected.append(statistics.median(samples))
    return [statistics.median(collected) for collected in medians]


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("a", type=pathlib.Path, help="the original")
    parser.add_argument("b", type=pathlib.Path, help="the optimized model")
    parser.add_argument("--tolerance", type=float, default=1e-4, help="largest error (1e-4)")
    parser.add_argument("--inputs", type=int, default=3, help="number of seeded inputs (3)")
    parser.add_argument("--dynamic-size", type=int, default=2, metavar="N",
                        help="what symbolic dimensions become (2)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--no-optimization", action="store_true",
                        help="run B as it stands, without ONNX Runtime's graph optimizations")
    parser.add_argument("--time", action="store_true", help="also print both latencies")
    parser.add_argument("--rounds", type=int, default=7, help="rounds of --time (7)")
    parser.add_argument("--runs", type=int, default=10, help="runs per round of --time (10)")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead")
    arguments = parser.parse_args()
    if arguments.inputs < 1 or arguments.rounds < 1 or arguments.runs < 1:
        parser.error("--inputs, --rounds and --runs must be positive")
    return arguments


def judge(arguments):
    """Returns the result as a dictionary; its "exit" is the exit code."""
    a = open_checked(arguments.a, arguments.threads, optimized=True)
    b = open_checked(arguments.b, arguments.threads, optimized=not arguments.no_optimization)
    fault = interface_fault(a, b)
    if fault:
        return {"exit": EXIT_DIFFERENT, "verdict": "different", "reason": fault}
    errors = compare(a, b, range(1, arguments.inputs + 1), arguments.dynamic_size)
    worst = max(errors, key=errors.get)
    result = {"max_rel_error": errors[worst], "worst_output": worst,
              "inputs_tried": arguments.inputs}
    dead = sample_inputs.liveness_faults(a, arguments.dynamic_size)
    # `not <=` instead of `>`: an error that is not a number must not pass.
    if not errors[worst] <= arguments.tolerance:
        result.update(exit=EXIT_DIFFERENT, verdict="different",
                      reason=f"max_rel_error is above {arguments.tolerance:g}")
    elif dead:
        result.update(exit=EXIT_INCONCLUSIVE, verdict="inconclusive", reason="; ".join(dead))
    else:
        result.update(exit=EXIT_EQUAL, verdict="equivalent")
    if arguments.time:
        result["latency_us_a"], result["latency_us_b"] = time_interleaved(
            a, b, arguments.rounds, arguments.runs, arguments.dynamic_size)
        result["speedup"] = result["latency_us_a"] / result["latency_us_b"]
    return result


def main():
    arguments = parse()
    try:
        result = judge(arguments)
    # Both libraries raise many unrelated types; each means that a file does not load or run.
    except Exception as error:  # pylint: disable=broad-except
        print(f"check_equal.py: {type(error).__name__}: {error}", file=sys.stderr)
        return EXIT_FAILED
    exit_code = result.pop("exit")
    if arguments.json:
        print(json.dumps(result))
    else:
        for key, value in result.items():
            print(f"{key}: {value:.6g}" if isinstance(value, float) else f"{key}: {value}")
    return exit_code


if __name__ == "__main__":
    sys.exit(main())
