#!/usr/bin/env python3
"""Lets each call of a simulated GPU's driver and libraries fail in a job: what becomes of it.

For each function and kind of fault a daemon with one worker optimizes the model. The worker's GPU
fails in its first life, at the call after `--calls-before` good ones, or, where no job makes so
many, at the first:

    error    once, and works again        memory   once, for want of memory
    sticky   and from then on always      hang     by not returning

and a task may take `--task-seconds`, a worker 10 s to start: a call that hangs ends with its worker
`--task-seconds` and 10 s later at most. A job is run once more when its tasks ended their workers.
It must end within the budget of its runs, and for each task that fails that and 10 s; it may fail
with words, but not return a file that computes something else, and the daemon must live on.

    python bench/simulated_gpu/faults.py build/tiny/tiny_resnet.onnx [--functions cuMemAlloc,...]
        [--kinds error,sticky,memory,hang] [--json FILE]

Exit codes: 0 all as it must be, 1 not so, 2 usage.
"""

import argparse
import collections
import datetime
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
KINDS = ("error", "sticky", "memory", "hang")
LISTS = (ROOT / "gpu_worker/backends/cuda/driver/driver_functions.def",
         ROOT / "gpu_worker/simulated_gpu/cudnn/cudnn_functions.def",
         ROOT / "gpu_worker/simulated_gpu/cublaslt/cublaslt_functions.def")
SECONDS_OF_GRACE = 10
START_SECONDS = 10  # a worker may take, which is less than what a task and the grace may
RUNS_MAX = 2
# To start a daemon, to import and to export.
SECONDS_BESIDE = 10
WORKER = """#!/bin/sh
case "$*" in *--server*)
  if mkdir "{folder}/first-life" 2>/dev/null; then export PLAIT_SIMULATED_FAULTS={fault}; fi
esac
exec "{build}/plait-worker" "$@"
"""


def functions_called():
    """Those of the lists, in their order."""
    return [name for path in LISTS
            for name in re.findall(r"^PLAIT_\w+FUNCTION\((\w+)", path.read_text(), re.MULTILINE)]


def run(arguments, folder, *words):
    """Runs `plait` on the simulated GPU, with data of its own and a worker that fails."""
    variables = {"LD_LIBRARY_PATH": str(arguments.build / "simulated_gpu"),
                 "PLAIT_RUNTIMES_PYTHON": "none", "PLAIT_WORKER_PROGRAM": str(folder / "worker"),
                 "PLAIT_TASK_SECONDS_MAX": str(arguments.task_seconds),
                 "PLAIT_WORKER_START_SECONDS_MAX": str(START_SECONDS)}
    return subprocess.run([str(word) for word in (arguments.build / "plait", *words)],
                          capture_output=True, text=True, check=False,
                          timeout=10 * arguments.task_seconds + 300,
                          env={**os.environ, **variables})


def job_with(arguments, function, kind, calls_before):
    """What becomes of a job in which `function` fails after so many calls."""
    folder = arguments.out / f"{function}-{kind}"
    shutil.rmtree(folder, ignore_errors=True)
    # Compiled kernels are kept from job to job, so that a minute's work is not done each time.
    kernels = arguments.out / "kernels"
    kernels.mkdir(parents=True, exist_ok=True, mode=0o700)
    (folder / "cache" / "data").mkdir(parents=True, mode=0o700)
    shutil.copytree(kernels, folder / "cache" / "data" / "kernels")
    worker = folder / "worker"
    worker.write_text(WORKER.format(folder=folder, build=arguments.build,
                                    fault=f"{function}:{kind}:{calls_before}"))
    worker.chmod(0o755)
    target = folder / "out.onnx"
    began = time.monotonic()
    done = run(arguments, folder, "optimize", arguments.model, "-o", target, "--device", "cuda:0",
               "--budget", f"{arguments.budget}s", "--cache-dir", folder / "cache", "--json")
    entry = {"function": function, "kind": kind, "calls_before": calls_before,
             "seconds": time.monotonic() - began, "exit_code": done.returncode,
             "error": last_line(done.stderr) if done.returncode != 0 else ""}
    log = (folder / "cache" / "plaitd.log").read_text(errors="replace")
    fault_s = re.search(rf"^simulated fault: {function} at ([\d.]+) s$", log, re.MULTILINE)
    entry["reached"] = fault_s is not None
    # The last one ends with the daemon.
    entry["workers_lost"] = sum('"worker.started"' in line for line in log.splitlines()) - 1
    if fault_s and entry["workers_lost"]:
        lost_s, entry["worker_exit_code"] = first_lost_worker(log)
        entry["lost_seconds"] = lost_s - float(fault_s.group(1))
    if done.returncode == 0:
        entry["verdict"] = json.loads(done.stdout)["equivalence"]["verdict"]
        compared = run(arguments, folder, "verify", arguments.model, target, "--json")
        entry["is_equal"] = compared.returncode == 0
    entry["wrong"] = wrong_of(arguments, entry)
    if not entry["wrong"]:
        shutil.copytree(folder / "cache" / "data" / "kernels", kernels, dirs_exist_ok=True)
        shutil.rmtree(folder)
    return entry


def first_lost_worker(log):
    """When it had ended, in seconds since 1970, and its exit code."""
    ended = next(json.loads(line) for line in log.splitlines() if '"worker.ended"' in line)
    return datetime.datetime.fromisoformat(ended["time"]).timestamp(), int(ended["exit_code"])


def last_line(text):
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def wrong_of(arguments, entry):
    """What must not be, in words; empty where all is well."""
    seconds_max = (RUNS_MAX * arguments.budget + 3 * (arguments.task_seconds + SECONDS_OF_GRACE)
                   + SECONDS_BESIDE)
    if entry["seconds"] > seconds_max:
        return f"took {entry['seconds']:.0f} s"
    hung_s = entry.get("lost_seconds", math.inf)
    if (entry["kind"] == "hang" and entry["reached"]
            and hung_s > arguments.task_seconds + SECONDS_OF_GRACE):
        return f"hung for {hung_s:.0f} s"
    if entry["exit_code"] == 0:
        return "" if entry["is_equal"] else "computes something else"
    if entry["exit_code"] < 0 or not entry["error"].startswith("plait: "):
        return f"exit code {entry['exit_code']} without words"
    if "plaitd" in entry["error"]:
        return "the daemon has ended"
    return ""


def outcome_of(entry):
    if entry["wrong"]:
        return "WRONG: " + entry["wrong"]
    if not entry["reached"]:
        return "not reached"
    if entry["exit_code"] != 0:
        return f"failed with words ({entry['exit_code']})"
    return "right" + (", by another worker" if entry["workers_lost"] else "")


def print_table(entries):
    by_function = collections.defaultdict(dict)
    for entry in entries:
        by_function[entry["function"]][entry["kind"]] = entry
    print("| function | " + " | ".join(KINDS) + " |\n|---|" + "---|" * len(KINDS))
    for function, kinds in by_function.items():
        cells = [f"{outcome_of(kinds[kind])}, {kinds[kind]['seconds']:.0f} s" if kind in kinds
                 else "" for kind in KINDS]
        print("| " + " | ".join([f"`{function}`", *cells]) + " |")
    counts = collections.Counter((entry["kind"], outcome_of(entry)) for entry in entries)
    for kind in KINDS:
        told = ", ".join(f"{outcome} {count}" for (of, outcome), count in sorted(counts.items())
                         if of == kind)
        if told:
            print(f"{kind}: {told}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build" / "simulated-faults")
    parser.add_argument("--functions", help="names, separated by commas (all that plait calls)")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--calls-before", type=int, default=2, help="that go well (2)")
    parser.add_argument("--budget", type=int, default=20, help="of a job, in seconds (20)")
    parser.add_argument("--task-seconds", type=int, default=10, help="of a task (10)")
    parser.add_argument("--json", type=pathlib.Path, help="keeps everything")
    arguments = parser.parse_args()
    functions = functions_called()
    if arguments.functions:
        functions = arguments.functions.split(",")
    unknown = sorted(set(functions) - set(functions_called()) | set(arguments.kinds.split(","))
                     - set(KINDS))
    if unknown:
        parser.error(f"no function or kind of fault: {', '.join(unknown)}")
    arguments.out.mkdir(parents=True, exist_ok=True)
    entries = []
    for function in functions:
        for kind in arguments.kinds.split(","):
            entry = job_with(arguments, function, kind, arguments.calls_before)
            if not entry["reached"] and arguments.calls_before > 0:
                entry = job_with(arguments, function, kind, 0)
            entries.append(entry)
            print(f"{function} {kind}: {outcome_of(entries[-1])}", file=sys.stderr, flush=True)
    print_table(entries)
    if arguments.json:
        arguments.json.write_text(json.dumps(entries, indent=1) + "\n")
    return 1 if any(entry["wrong"] for entry in entries) else 0


if __name__ == "__main__":
    sys.exit(main())
