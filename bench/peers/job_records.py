#!/usr/bin/env python3
"""Keeps what is needed of jobs' reports to judge them again.

    job_records.py REPORTS/*.json --json bench/results/cpu/PROCESSOR/DATE-jobs.json

Each report is what `plait optimize MODEL.onnx --json` printed, as NAME.json. Of each the record has
the digests of the model and of what was returned, the opaque nodes, the file's body, what each
runtime gains and the one that is recommended, all named as in docs/schema/optimize.json.
recommended.py and gains.py find a job by the digest of the file that it returned, so that no file
is judged by the report of another.

Columns: the body, the number of opaque nodes, the recommended runtime with its threads and the
latency expected, in milliseconds; for each runtime its time of the original over that of the
returned file with the interval, and why something was not measured.

Exit codes: 0, 1 a file is no report, 2 usage.
"""

import argparse
import datetime
import json
import pathlib
import sys

SCHEMA_VERSION = 1
# What is kept of a report: a name, or a name with what is kept of its object or of each of a list.
KEPT = ("engine_version", ("model", "digest", "nodes", "opaque_nodes"), ("device", "fingerprint"),
        ("optimized", "latency_us_median", "origin", "portable", "body"),
        ("runtimes", "runtime", "version", "options", "threads", "original_us_median",
         "latency_us_median", "ratio", "ratio_low", "ratio_high", "note"),
        ("recommended", "runtime", "threads", "options", "latency_us"), ("output", "digest"))


class RecordFailure(Exception):
    """A file is no report or no record of jobs."""


def kept_of(report):
    """The part of a report that KEPT names."""
    def part(value, fields):
        if not fields or value is None:
            return value
        if isinstance(value, list):
            return [part(one, fields) for one in value]
        return {field: value[field] for field in fields}
    entries = ((entry, ()) if isinstance(entry, str) else (entry[0], entry[1:]) for entry in KEPT)
    return {name: part(report[name], fields) for name, fields in entries}


def record_of(path):
    """The record of one report; its name is the file's."""
    try:
        report = json.loads(path.read_text())
        if report["schema_version"] != SCHEMA_VERSION:
            raise RecordFailure(f"{path}: a report of version {report['schema_version']}")
        return {"name": path.stem} | kept_of(report)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RecordFailure(f"{path}: no report of plait optimize --json: {error!r}") from error


def read(paths):
    """The records of several files by the digest of the file that each job returned."""
    jobs = {}
    for path in paths:
        try:
            document = json.loads(path.read_text())
            if document["schema_version"] != SCHEMA_VERSION:
                raise RecordFailure(f"{path}: records of version {document['schema_version']}")
            jobs |= {job["output"]["digest"]: job for job in document["jobs"]}
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise RecordFailure(f"{path}: no records of jobs: {error!r}") from error
    return jobs


def job_of(entry, jobs):
    """The job that returned the file of which peers.py took these figures."""
    # The rows that run it; all have the same one.
    rows = ("plait", "plait-session", "onnxruntime+plait", "openvino+plait")
    digest = next((entry["digests"][row] for row in rows if row in entry["digests"]), None)
    if digest not in jobs:
        raise RecordFailure(f"{entry['name']}: no job returned the file that was measured")
    return jobs[digest]


def line_of(job):
    recommended = job["recommended"]
    best = (f"{recommended['runtime']} ({recommended['threads']}) "
            f"{recommended['latency_us'] / 1000:.3f}" if recommended else "none")
    gains = "  ".join(
        f"{entry['runtime']} {entry['ratio']:.3f} [{entry['ratio_low']:.3f}, "
        f"{entry['ratio_high']:.3f}]" + (f" {entry['note']}" if entry["note"] else "")
        for entry in job["runtimes"])
    return (f"{job['name']:<24} {job['optimized']['body'] or '-':<10} "
            f"{len(job['model']['opaque_nodes']):>6}  {best:<26} {gains}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reports", type=pathlib.Path, nargs="+", metavar="NAME.json")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="keep the records")
    arguments = parser.parse_args()
    try:
        jobs = [record_of(path) for path in arguments.reports]
    except RecordFailure as failure:
        print(f"job_records.py: {failure}", file=sys.stderr)
        return 1
    print(f"{'model':<24} {'body':<10} {'opaque':>6}  {'recommended, ms':<26} "
          "the original / the returned file in")
    print("\n".join(map(line_of, jobs)))
    if arguments.json:
        arguments.json.write_text(json.dumps(
            {"schema_version": SCHEMA_VERSION, "date": datetime.date.today().isoformat(),
             "jobs": jobs}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
