#!/usr/bin/env python3
"""Shows whether the runtime that a job recommends is the fastest when it is measured again.

PEERS.json is what `peers.py --optimized FOLDER --json PEERS.json` wrote for the files that jobs
returned, with onnxruntime and openvino among the runtimes, and JOBS.json what job_records.py kept
of what those jobs reported. plait is judged by its session in Python where peers.py measured that,
as a program would run it.

Columns: the recommended runtime, the one with the lowest median, and the time of the first over
that of the second with its 95 % interval, which is 1 where they are the same; the body of the file;
for each other runtime its time of the original over that of the returned file.

Exit codes: 0 within --slower-max (2 %) of the fastest in --share-min (95 %) of the models or more,
1 in fewer, or a file that was measured is that of no job, 2 usage. A job that recommends nothing,
or a runtime that did not run the file, is not within it, nor is one that was measured in no round
that counts.
"""

import argparse
import json
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "models"))

import comparison  # noqa: E402 (needs the folder of models)
import job_records  # noqa: E402
import report  # noqa: E402


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peers", type=pathlib.Path, metavar="PEERS.json")
    parser.add_argument("jobs", type=pathlib.Path, nargs="+", metavar="JOBS.json")
    parser.add_argument("--slower-max", type=float, default=0.02, metavar="X",
                        help="how much slower than the fastest is as good as it (0.02)")
    parser.add_argument("--share-min", type=float, default=0.95, metavar="X",
                        help="of how many models the recommended one has to be as good (0.95)")
    return parser.parse_args()


def choices_of(entry):
    """Runtime to row: what a program can run the returned file in."""
    rows = {row["runtime"]: row for row in entry["runtimes"] if "failure" not in row}
    names = {"plait": comparison.SESSION if comparison.SESSION in rows else "plait"}
    names |= {peer: comparison.returned_in(peer) for peer in comparison.PEERS}
    return {runtime: rows[name] for runtime, name in names.items() if name in rows}


def kept_medians(entry, row):
    """The medians of the turns in rounds that count."""
    return [turn["median"] for turn, entry_round in zip(row["rounds"], entry["rounds"])
            if entry_round["dropped"] is None]


def judge(entry, job):
    """Returns the recommended and the fastest runtime, and the figures of their ratio, or None
    where the recommended one has none or no round counts."""
    choices = {runtime: kept_medians(entry, row) for runtime, row in choices_of(entry).items()}
    recommended = job["recommended"]["runtime"] if job["recommended"] else "none"
    if not any(choices.values()):
        return recommended, "unknown", None
    fastest = min(choices, key=lambda runtime: statistics.median(choices[runtime]))
    if recommended not in choices:
        return recommended, fastest, None
    ratios = [first / second for first, second in zip(choices[recommended], choices[fastest])]
    return recommended, fastest, report.ratio_figures(ratios)


def line_of(entry, job, recommended, fastest, ratio):
    body = job["optimized"]["body"]
    compared = report.interval(ratio) if ratio else "-"
    returned = "  ".join(f"{peer} {report.interval(figures)}"
                         for peer, figures in entry["returned_ratios"].items())
    return (f"{entry['name']:<24} {recommended:<12} {fastest:<12} {compared:<22} "
            f"{body:<10} {returned}")


def main():
    arguments = parse()
    entries = json.loads(arguments.peers.read_text())["models"]
    try:
        jobs = job_records.read(arguments.jobs)
        pairs = [(entry, job_records.job_of(entry, jobs)) for entry in entries]
    except job_records.RecordFailure as failure:
        print(f"recommended.py: {failure}", file=sys.stderr)
        return 1
    print(f"{'model':<24} {'recommended':<12} {'fastest':<12} {'recommended / fastest':<22} "
          f"{'body':<10} the original / the returned file in")
    good = 0
    for entry, job in pairs:
        recommended, fastest, ratio = judge(entry, job)
        good += ratio is not None and ratio["median"] <= 1 + arguments.slower_max
        print(line_of(entry, job, recommended, fastest, ratio))
    print(f"within {arguments.slower_max:.0%} of the fastest: {good} of {len(entries)}")
    return 0 if good >= arguments.share_min * len(entries) else 1


if __name__ == "__main__":
    sys.exit(main())
