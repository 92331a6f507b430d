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

    python bench/simulated_gpu/fault_model.py build/tiny/fault_model.onnx
    python bench/simulated_gpu/faults.py build/tiny/fault_model.onnx [--functions cuMemAlloc,...]
        [--kinds error,sticky,memory,hang] [--json FILE]

That model's job reaches all but what is left out, which is listed below the table with the reasons:
a last job, in which all of it would fail, shows that none of it does.

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
# What fails in no job, by the reason.
LEFT_OUT = {
    "belongs to the measuring of times, of which a simulated GPU has none": (
        "cuEventCreate", "cuEventDestroy", "cuEventRecord", "cuEventElapsedTime",
        "cuKernelGetFunction", "cuFuncGetName", "cuFuncGetAttribute",
        "cuOccupancyMaxActiveBlocksPerMultiprocessor"),
    "is called by bench/gpu only": ("cuStreamWaitEvent",),
    "is for libraries whose launches fill memory, which the stand-ins' do not": (
        "cuGraphMemsetNodeGetParams", "cuGraphAddMemsetNode"),
    "is called as a worker ends by itself, after an error that stays: it fails then": (
        "cuMemFreeHost", "cuLibraryUnload"),
    "returns no status": (
        "cudnnGetVersion", "cudnnGetErrorString", "cudnnGetLastErrorString", "cublasLtGetVersion",
        "cublasLtGetStatusString"),
}
# What has to fail before a function is called at all.
FAULT_BEFORE = {"cuDevicePrimaryCtxRelease": "cuLaunchKernel:sticky:2"}
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


def optimize_with(arguments, name, fault):
    """Optimizes the model in a new folder, and returns this, how it ended and the seconds."""
    folder = arguments.out / name
    shutil.rmtree(folder, ignore_errors=True)
    # Compiled kernels are kept from job to job, so that a minute's work is not done each time.
    kernels = arguments.out / "kernels"
    kernels.mkdir(parents=True, exist_ok=True, mode=0o700)
    (folder / "cache" / "data").mkdir(parents=True, mode=0o700)
    shutil.copytree(kernels, folder / "cache" / "data" / "kernels")
    worker = folder / "worker"
    worker.write_text(WORKER.format(folder=folder, build=arguments.build, fault=fault))
    worker.chmod(0o755)
    began = time.monotonic()
    done = run(arguments, folder, "optimize", arguments.model, "-o", folder / "out.onnx",
               "--device", "cuda:0", "--budget", f"{arguments.budget}s", "--cache-dir",
               folder / "cache", "--json")
    return folder, done, time.monotonic() - began


def job_with(arguments, function, kind, calls_before):
    """What becomes of a job in which `function` fails after so many calls."""
    faults = [FAULT_BEFORE[function]] if function in FAULT_BEFORE else []
    folder, done, seconds = optimize_with(arguments, f"{function}-{kind}", ",".join(
        [*faults, f"{function}:{kind}:{calls_before}"]))
    entry = {"function": function, "kind": kind, "calls_before": calls_before,
             "seconds": seconds, "exit_code": done.returncode,
             "error": last_line(done.stderr) if done.returncode != 0 else ""}
    log = (folder / "cache" / "plaitd.log").read_text(errors="replace")
    fault_s = faults_told(log).get(function)
    entry["reached"] = fault_s is not None
    # The last one ends with the daemon.
    entry["workers_lost"] = sum('"worker.started"' in line for line in log.splitlines()) - 1
    if fault_s and entry["workers_lost"]:
        lost_s, entry["worker_exit_code"] = first_lost_worker(log)
        entry["lost_seconds"] = lost_s - fault_s
    if done.returncode == 0:
        entry["verdict"] = json.loads(done.stdout)["equivalence"]["verdict"]
        compared = run(arguments, folder, "verify", arguments.model, folder / "out.onnx", "--json")
        entry["is_equal"] = compared.returncode == 0
    entry["wrong"] = wrong_of(arguments, entry)
    if not entry["wrong"]:
        shutil.copytree(folder / "cache" / "data" / "kernels", arguments.out / "kernels",
                        dirs_exist_ok=True)
        shutil.rmtree(folder)
    return entry


def fails_all_the_same(arguments):
    """Those of LEFT_OUT that fail in the model's job, or what that job failed of."""
    names = [name for functions in LEFT_OUT.values() for name in functions]
    folder, done, _ = optimize_with(arguments, "left-out",
                                    ",".join(f"{name}:error:0" for name in names))
    failed = sorted(faults_told((folder / "cache" / "plaitd.log").read_text(errors="replace")))
    shutil.rmtree(folder)
    return failed or ([last_line(done.stderr)] if done.returncode != 0 else [])


def faults_told(log):
    """When each came that did, in seconds since 1970, by its function."""
    return {function: float(seconds) for function, seconds in re.findall(
        r"^simulated fault: (\w+) at ([\d.]+) s$", log, re.MULTILINE)}


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
    left_out = {name: reason for reason, names in LEFT_OUT.items() for name in names}
    functions = [name for name in functions_called() if name not in left_out]
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
    failed = []
    if not arguments.functions:
        failed = fails_all_the_same(arguments)
        print("left out:")
        for name, reason in left_out.items():
            print(f"`{name}` {reason}")
        print(f"WRONG, of these: {', '.join(failed)}" if failed else "none of these fails in a job")
    return 1 if failed or any(entry["wrong"] for entry in entries) else 0


if __name__ == "__main__":
    sys.exit(main())
