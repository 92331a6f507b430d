#!/usr/bin/env python3
"""Prints what each runtime gains by the files that jobs returned, as the table of docs/gains.md.

Each PEERS.json is what `peers.py --optimized FOLDER --json PEERS.json --runtimes
onnxruntime,openvino,plait,plait-session` wrote. A model that stands in several of them has a row
for each, in their order. The last row has the geometric means.

A gain in another runtime is faster or slower where its interval lies beside 1, equal where the
interval holds 1 and is within 2 % of the ratio, and wide where it holds 1 and says no more.

Below it is every model that plait.InferenceSession runs slower than the faster of the others runs
the original, with its reason, which reasons.json has.

With --jobs JOBS.json, what job_records.py kept of the jobs that returned the files, what their
bodies are follows. Where a body is the original's bytes the other runtimes, which ignore the plan
beside it, do the same work for both files, and a ratio tells what noise is worth. In how many
rounds the original took longer tells of a bias, with the median of its time over that of the
returned file: for the same work these are about half of them and 1.

Exit codes: 0; 1 where a file that was measured is that of no job, and with --judge where a file
misses: in one of the other runtimes it has no ratio of 1 or more and is not equal, it is slower in
plait for no known reason, or its job found opaque nodes. Misses are listed on stderr.
"""

import argparse
import json
import math
import pathlib
import statistics
import sys

import job_records
import report
import rounds

RETURNED = {"onnxruntime": "ONNX Runtime", "openvino": "OpenVINO"}
TITLES = RETURNED | {"plait-session": "plait"}
SWITCH_VERDICTS = ("faster", "undecided", "slower")
REASONS = json.loads((pathlib.Path(__file__).resolve().parent / "reasons.json").read_text())


def gains_of(entry):
    """Runtime to the figures of its ratio, or None: the original's time there over that of the
    returned file; for plait over that of the original in the faster of the others."""
    return entry["returned_ratios"] | {"plait-session": entry["session_ratio"]}


def named(entries):
    """Each entry with a name of its own: a model that is there again is called so."""
    seen = {}
    for entry in entries:
        seen[entry["name"]] = seen.get(entry["name"], 0) + 1
        yield entry["name"] + ", again" * (seen[entry["name"]] - 1), entry


def latency_ms(entry, runtime):
    """The median of the returned file; of the original in a runtime that has no ratio."""
    rows = {row["runtime"]: row for row in entry["runtimes"] if "failure" not in row}
    row = rows.get(f"{runtime}+plait", rows.get(runtime))
    return f"{row['latency_us_median'] / 1000:.2f}" if row else "-"


def verdict(runtime, ratio):
    if runtime in RETURNED:
        return rounds.returned_verdict(**ratio)
    return rounds.verdict(ratio["low"], ratio["high"])


def cell(runtime, ratio):
    return f"{report.interval(ratio)}, {verdict(runtime, ratio)}" if ratio else "-"


def lines_of(entries):
    """The table in Markdown."""
    yield "| model | " + " | ".join(f"{title}, ms | gain" for title in TITLES.values()) + " |"
    yield "|---" * (1 + 2 * len(TITLES)) + "|"
    for name, entry in named(entries):
        gains = gains_of(entry)
        yield f"| {name} | " + " | ".join(
            f"{latency_ms(entry, runtime)} | {cell(runtime, gains.get(runtime))}"
            for runtime in TITLES) + " |"
    yield "| geometric mean | " + " | ".join(
        f" | {mean_of(runtime, [gains_of(entry).get(runtime) for entry in entries])}"
        for runtime in TITLES) + " |"


def mean_of(runtime, ratios):
    """The geometric mean of what there is, and how many have each verdict."""
    known = [ratio for ratio in ratios if ratio]
    if not known:
        return "-"
    mean = math.exp(statistics.fmean(math.log(ratio["median"]) for ratio in known))
    verdicts = [verdict(runtime, ratio) for ratio in known]
    names = rounds.RETURNED_VERDICTS if runtime in RETURNED else SWITCH_VERDICTS
    counts = ", ".join(f"{verdicts.count(name)} {name}" for name in names)
    return f"{mean:.3f} ({counts})"


def is_below(entry):
    """Whether a program that changes its runtime loses by it."""
    return entry["session_ratio"] is not None and entry["session_ratio"]["median"] < 1


def lines_of_reasons(entries):
    """Every model that is below 1 in plait."""
    below = [(name, entry) for name, entry in named(entries) if is_below(entry)]
    yield f"Below 1 in plait: {len(below) or 'none'} of {len(entries)}."
    for name, entry in below:
        yield (f"- {name}, {cell('plait-session', entry['session_ratio'])}: "
               f"{REASONS.get(entry['name'], 'no reason is known')}")


def returned_cells(entry):
    """The gain in each other runtime, with its name."""
    return ", ".join(f"{title} {cell(runtime, entry['returned_ratios'].get(runtime))}"
                     for runtime, title in RETURNED.items())


def rounds_slower(entries, runtime):
    """In how many of the rounds that count the original took longer than the returned file, and
    the median of its time over that of the returned file in them."""
    ratios = []
    for entry in entries:
        rows = {row["runtime"]: row.get("rounds") for row in entry["runtimes"]}
        original, returned = rows.get(runtime), rows.get(f"{runtime}+plait")
        if original and returned:
            ratios += [first["median"] / second["median"]
                       for first, second, of in zip(original, returned, entry["rounds"])
                       if of["dropped"] is None]
    if not ratios:
        return "-"
    slower = sum(ratio > 1 for ratio in ratios)
    return f"{slower} of {len(ratios)} ({statistics.median(ratios):.3f})"


def lines_of_bodies(entries, jobs):
    """How many bodies were rewritten and what each gains; what the others show, which is noise."""
    bodies = [job["optimized"]["body"] for job in jobs]
    yield (f"Of {len(bodies)} bodies {len(bodies) - bodies.count('original')} were rewritten; "
           f"opaque nodes: {sum(len(job['model']['opaque_nodes']) for job in jobs)}.")
    originals = []
    for (name, entry), body in zip(named(entries), bodies):
        if body == "original":
            originals.append(entry)
        else:
            yield f"- {name}, {body}: {returned_cells(entry)}"
    if originals:
        means = ", ".join(
            f"{title} {mean_of(runtime, [gains_of(entry).get(runtime) for entry in originals])}"
            for runtime, title in RETURNED.items())
        yield f"- the original's bytes in {len(originals)}, the same work but for noise: {means}"
        shares = ", ".join(f"{title} {rounds_slower(originals, runtime)}"
                           for runtime, title in RETURNED.items())
        yield f"- rounds of these in which the original took longer, half but for a bias: {shares}"


def misses_of(entries, jobs):
    """A line for each file and runtime in which the file is not as fast as the original, for each
    that is slower in plait for no known reason, and for each with opaque nodes; a job is None where
    it is not known."""
    for (name, entry), job in zip(named(entries), jobs):
        note = " (the original's bytes)" if job and job["optimized"]["body"] == "original" else ""
        for runtime, title in RETURNED.items():
            ratio = entry["returned_ratios"].get(runtime)
            if not ratio:
                yield f"{name} in {title}: no figure"
            elif not rounds.is_as_fast(**ratio):
                yield f"{name} in {title}: {cell(runtime, ratio)}{note}"
        if is_below(entry) and entry["name"] not in REASONS:
            yield f"{name} in plait: {cell('plait-session', entry['session_ratio'])}, no reason"
        if job and job["model"]["opaque_nodes"]:
            yield f"{name}: {len(job['model']['opaque_nodes'])} opaque nodes"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peers", type=pathlib.Path, nargs="+", metavar="PEERS.json")
    parser.add_argument("--jobs", type=pathlib.Path, nargs="+", default=[], metavar="JOBS.json",
                        help="tell the bodies of the files, too")
    parser.add_argument("--judge", action="store_true",
                        help="end with 1 where a returned file is slower than the original")
    arguments = parser.parse_args()
    entries = [entry for path in arguments.peers
               for entry in json.loads(path.read_text())["models"]]
    try:
        known = job_records.read(arguments.jobs)
        jobs = [job_records.job_of(entry, known) if arguments.jobs else None
                for entry in entries]
    except job_records.RecordFailure as failure:
        print(f"gains.py: {failure}", file=sys.stderr)
        return 1
    print("\n".join([*lines_of(entries), "", *lines_of_reasons(entries)]))
    if arguments.jobs:
        print("\n" + "\n".join(lines_of_bodies(entries, jobs)))
    misses = list(misses_of(entries, jobs)) if arguments.judge else []
    for miss in misses:
        print(f"gains.py: {miss}", file=sys.stderr)
    return 1 if misses else 0


if __name__ == "__main__":
    sys.exit(main())
