#!/usr/bin/env python3
"""Prints what each runtime gains by the files that jobs returned, as the table of docs/gains.md.

Each PEERS.json is what `peers.py --optimized FOLDER --json PEERS.json --runtimes
onnxruntime,openvino,plait,plait-session` wrote. A model that stands in several of them has a row
for each, in their order. The last row has the geometric means.
"""

import argparse
import json
import math
import pathlib
import statistics

import report
import rounds

TITLES = {"onnxruntime": "ONNX Runtime", "openvino": "OpenVINO", "plait-session": "plait"}


def gains_of(entry):
    """Runtime to the figures of its ratio, or None: the original's time there over that of the
    returned file; for plait over that of the original in the faster of the others."""
    return entry["returned_ratios"] | {"plait-session": entry["session_ratio"]}


def latency_ms(entry, runtime):
    """The median of the returned file; of the original in a runtime that has no ratio."""
    rows = {row["runtime"]: row for row in entry["runtimes"] if "failure" not in row}
    row = rows.get(f"{runtime}+plait", rows.get(runtime))
    return f"{row['latency_us_median'] / 1000:.2f}" if row else "-"


def cell(ratio):
    return report.interval(ratio) if ratio else "-"


def lines_of(entries):
    """The table in Markdown."""
    yield "| model | " + " | ".join(f"{title}, ms | gain" for title in TITLES.values()) + " |"
    yield "|---" * (1 + 2 * len(TITLES)) + "|"
    seen = {}
    for entry in entries:
        seen[entry["name"]] = seen.get(entry["name"], 0) + 1
        name = entry["name"] + ", again" * (seen[entry["name"]] - 1)
        gains = gains_of(entry)
        yield f"| {name} | " + " | ".join(
            f"{latency_ms(entry, runtime)} | {cell(gains.get(runtime))}"
            for runtime in TITLES) + " |"
    yield "| geometric mean | " + " | ".join(
        f" | {mean_of([gains_of(entry).get(runtime) for entry in entries])}"
        for runtime in TITLES) + " |"


def mean_of(ratios):
    """The geometric mean of what there is, and how many are decided."""
    known = [ratio for ratio in ratios if ratio]
    if not known:
        return "-"
    mean = math.exp(statistics.fmean(math.log(ratio["median"]) for ratio in known))
    verdicts = [rounds.verdict(ratio["low"], ratio["high"]) for ratio in known]
    counts = ", ".join(f"{verdicts.count(name)} {name}"
                       for name in ("faster", "undecided", "slower"))
    return f"{mean:.3f} ({counts})"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peers", type=pathlib.Path, nargs="+", metavar="PEERS.json")
    entries = [entry for path in parser.parse_args().peers
               for entry in json.loads(path.read_text())["models"]]
    print("\n".join(lines_of(entries)))


if __name__ == "__main__":
    main()
