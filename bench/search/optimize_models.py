#!/usr/bin/env python3
"""Runs `plait optimize` on ONNX files and shows that what it reports is so.

For each file, one after the other:
  1. `plait optimize --search plait`, and `--search none`, which writes the baseline with its plan;
  2. `plait optimize` once more without the result cache: nothing is left to profile;
  3. `plait bench` of the two outputs side by side: the gain, measured again by another program;
  4. `plait bench` of the optimized file with and without metadata_props: what the plan is worth;
  5. with --ort-python, ONNX Runtime loads input and output, compares and times them.

Prints a row per file and the geometric means; --json keeps everything, in a file in whose path
PROCESSOR stands for what the device's fingerprint says of the processor, and DATE for today. The
outputs stay in --out, where bench/peers finds them (--optimized). Run it on an idle machine.

    python bench/search/optimize_models.py build/models/resnet50.onnx --out build/optimized \\
        --json bench/results/cpu/PROCESSOR/DATE-optimize.json

Exit codes: 0 all well, 1 a step failed (its row says which), 2 usage.
"""

import argparse
import datetime
import json
import math
import pathlib
import re
import subprocess
import sys

import onnx

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHECK_EQUAL = ROOT / "bench" / "peers" / "check_equal.py"
STEP_SECONDS_MAX = 1800


class StepFailure(Exception):
    """A step ended with an error; the message is its last line."""


def run_json(*words):
    """Runs a program that prints JSON and returns it."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          timeout=STEP_SECONDS_MAX, check=False)
    if done.returncode != 0:
        lines = (done.stderr.strip() or "no message").splitlines()
        raise StepFailure(f"{words[1]}: exit code {done.returncode}: {lines[-1]}")
    return json.loads(done.stdout)


def optimize(arguments, model, output, *options):
    return run_json(arguments.plait, "optimize", model, "-o", output, "--json",
                    "--budget", arguments.budget, "--precision", arguments.precision, *options)


def strip_metadata(source, target):
    """Writes the model without its metadata, and so without its plan."""
    model = onnx.load(str(source))
    del model.metadata_props[:]
    onnx.save(model, str(target))


def bench_ratio(arguments, slower, faster):
    """The time of `slower` over that of `faster`, as `plait bench` has it."""
    result = run_json(arguments.plait, "bench", slower, faster, "--json")
    for model in result["models"]:
        # A default plan would be timed as if it were the one in the file.
        if model["plan"]["grade"] == "default":
            raise StepFailure(f"bench: {model['path']}: {model['plan']['explanation']}")
    return result["ratio"]


def examine(arguments, model):
    """All steps for one file; returns what is kept of it."""
    optimized = arguments.out / model.name
    baseline = arguments.out / "baseline" / model.name
    stripped = arguments.out / "stripped" / model.name
    entry = {"optimize": optimize(arguments, model, optimized)}
    again = optimize(arguments, model, arguments.out / "again.onnx", "--no-result-cache")
    entry["optimize_again"] = again["search"]
    entry["baseline"] = optimize(arguments, model, baseline, "--search", "none")["optimized"]
    strip_metadata(optimized, stripped)
    entry["gain_in_bench"] = bench_ratio(arguments, baseline, optimized)
    entry["gain_of_plan"] = bench_ratio(arguments, stripped, optimized)
    if arguments.ort_python:
        entry["onnxruntime"] = run_json(arguments.ort_python, CHECK_EQUAL, model, optimized,
                                        "--tolerance", arguments.ort_tolerance, "--time", "--json")
    return entry


def results_path(pattern, entries):
    """Fills PROCESSOR and DATE in; a brand name alone is shared by several generations."""
    fingerprint = next(iter(entries.values()))["optimize"]["device"]["fingerprint"]
    names = {"PROCESSOR": fingerprint.split(";_")[2], "DATE": datetime.date.today().isoformat()}
    return pathlib.Path(re.sub("PROCESSOR|DATE", lambda word: names[word.group()], str(pattern)))


def device_now(arguments):
    """What the worker says of the device, with how fast it is now: hours differ."""
    return run_json(arguments.plait_worker, "--check", "--device", "cpu")


def keep_results(arguments, devices, entries, failures):
    path = results_path(arguments.json, entries)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(
        {"command": "bench/search/optimize_models.py", "budget": arguments.budget,
         "precision": arguments.precision,
         "date": datetime.date.today().isoformat(), "devices": devices, "models": entries,
         "failures": failures}, indent=1, sort_keys=True) + "\n")


def megabytes(size):
    return "-" if size is None else f"{size / 2 ** 20:.0f}"


def row_of(name, entry):
    report = entry["optimize"]
    search = report["search"]
    ort = entry.get("onnxruntime", {})
    cells = [
        name,
        f"{report['baseline']['latency_us_median'] / 1000:.2f}",
        f"{report['optimized']['latency_us_median'] / 1000:.2f}",
        f"{report['speedup']:.3f} [{report['speedup_low']:.3f}, {report['speedup_high']:.3f}]",
        f"{entry['gain_in_bench']['median']:.3f}",
        f"{entry['gain_of_plan']['median']:.3f}",
        report["equivalence"]["verdict"],
        str(report["optimized"]["fallback_nodes"]),
        f"{search['candidates']}/{search['candidates_measured']}",
        f"{search['seconds']:.1f}+{search['profiling_seconds']:.0f}"
        f"+{search['verification_seconds']:.0f}",
        f"{search['profiles_measured']}/{entry['optimize_again']['profiles_measured']}",
        " ".join(f"{times['predicted_us'] / times['latency_us_median']:.2f}"
                 for times in search["plan_times"]),
        f"{megabytes(search['peak_memory_bytes'])}/"
        f"{megabytes(search['worker_peak_memory_bytes'])}",
    ]
    if ort:
        cells += [f"{ort['max_rel_error']:.1e}", f"{ort['speedup']:.2f}"]
    return "| " + " | ".join(cells) + " |"


HEADER = ["model", "baseline ms", "optimized ms", "speedup", "in bench", "plan/no plan", "verdict",
          "fallback", "candidates/measured", "search+profiling+verification s",
          "profiles first/second run", "predicted/measured, by plan", "MB of search/worker"]
ORT_HEADER = ["ORT error", "ORT speedup"]


def print_header(with_ort):
    names = HEADER + (ORT_HEADER if with_ort else [])
    print("| " + " | ".join(names) + " |\n|" + "---|" * len(names), flush=True)


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=pathlib.Path, metavar="MODEL.onnx")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build" / "optimized")
    parser.add_argument("--plait", type=pathlib.Path, default=ROOT / "build" / "plait")
    parser.add_argument("--plait-worker", type=pathlib.Path,
                        default=ROOT / "build" / "plait-worker")
    parser.add_argument("--budget", default="60s", help="of each search (60s)")
    parser.add_argument("--precision", choices=("strict", "bf16"), default="strict",
                        help="of each search (strict)")
    parser.add_argument("--ort-python", metavar="PYTHON",
                        help="a Python with onnxruntime, such as build/venv-peers/bin/python")
    parser.add_argument("--ort-tolerance", default="1e-3")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE")
    arguments = parser.parse_args()
    for path in arguments.models:
        if not path.is_file():
            parser.error(f"no such file: {path}")
    for folder in ("baseline", "stripped"):
        (arguments.out / folder).mkdir(parents=True, exist_ok=True)
    return arguments


def main():
    arguments = parse()
    print_header(bool(arguments.ort_python))
    entries, failures = {}, {}
    # Before the first model and after each.
    devices = [device_now(arguments)]
    for model in arguments.models:
        try:
            entries[model.stem] = examine(arguments, model)
            print(row_of(model.stem, entries[model.stem]), flush=True)
        except (StepFailure, subprocess.TimeoutExpired, KeyError, ValueError) as failure:
            failures[model.stem] = str(failure)
            print(f"| {model.stem} | failed: {failure} |", flush=True)
        devices.append(device_now(arguments))
        if arguments.json and entries:
            keep_results(arguments, devices, entries, failures)
    for title, value in (
            ("speedup", lambda entry: entry["optimize"]["speedup"]),
            ("gain of --search plait over --search none in plait bench",
             lambda entry: entry["gain_in_bench"]["median"]),
            ("gain of the plan", lambda entry: entry["gain_of_plan"]["median"])):
        if entries:
            print(f"geometric mean of {len(entries)}, {title}: "
                  f"{geometric_mean([value(entry) for entry in entries.values()]):.3f}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
