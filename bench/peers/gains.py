#!/usr/bin/env python3
"""Prints what each runtime gains by the files that jobs returned, as the table of docs/gains.md.

Each PEERS.json is what `peers.py --optimized FOLDER --json PEERS.json --runtimes
onnxruntime,openvino,plait,plait-session` wrote. A model that stands in several of them has a row
for each, in their order. The last row has the geometric means.

A gain in another runtime is faster or slower where its interval lies beside 1, equal where the
interval holds 1 and is within 2 % of the ratio, and wide where it holds 1 and says no more.

Exit codes: 0; with --judge 1 where a file misses: in one of the other runtimes it has no ratio of 1
or more and is not equal. Misses are listed on stderr.
"""

import argparse
import json
import math
import pathlib
import statistics
import sys

import report
import rounds

RETURNED = {"onnxruntime": "ONNX Runtime", "openvino": "OpenVINO"}
TITLES = RETURNED | {"plait-session": "plait"}
SWITCH_VERDICTS = ("faster", "undecided", "slower")


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


def misses_of(entries):
    """A line for each file and runtime in which the file is not as fast as the original."""
    for name, entry in named(entries):
        for runtime, title in RETURNED.items():
            ratio = entry["returned_ratios"].get(runtime)
            if not ratio:
                yield f"{name} in {title}: no figure"
            elif not rounds.is_as_fast(**ratio):
                yield f"{name} in {title}: {cell(runtime, ratio)}"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peers", type=pathlib.Path, nargs="+", metavar="PEERS.json")
    parser.add_argument("--judge", action="store_true",
                        help="end with 1 where a returned file is slower than the original")
    arguments = parser.parse_args()
    entries = [entry for path in arguments.peers
               for entry in json.loads(path.read_text())["models"]]
    print("\n".join(lines_of(entries)))
    if not arguments.judge:
        return 0
    misses = list(misses_of(entries))
    for miss in misses:
        print(f"gains.py: {miss}", file=sys.stderr)
    return 1 if misses else 0


if __name__ == "__main__":
    sys.exit(main())
