#!/usr/bin/env python3
"""AutoGraph's table, measured: `measured_table.py measure MODEL... --out FOLDER`, then
`measured_table.py print FOLDER...`.

`measure` runs `plait ablate` for each system of the table and for plait, one model after the other,
with one cache for all, and leaves FOLDER/MODEL.json; a model that is there already is passed over.
`print` writes Markdown: each system's time by AutoGraph's, as measured and as the paper has it.

A job measures its plan beside the original, turn by turn, so a system's time is the original's by
its speed-up, and what the machine does between two jobs is not in the ratio. `=` marks a system
whose interval of the speed-up and AutoGraph's overlap: which is faster is not known.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

from autograph_table import PAPER, SYSTEMS, geometric_mean, table

COLUMNS = {**SYSTEMS, "plait": ("plait", "plait")}
# What `plait ablate` runs as all pairs of two lists.
RUNS = (("normal_form,taso", "sequential,nimble"), ("normal_form", "ios"), ("autograph", "nimble"),
        ("plait", "plait"))


def measure(plait, model, cache, budget):
    """The rows of all systems, by one `plait ablate` for each of RUNS."""
    rows = []
    for searches, schedules in RUNS:
        jobs = len(searches.split(",")) * len(schedules.split(","))
        command = [plait, "ablate", model, "--searches", searches, "--schedules", schedules,
                   "--budget", f"{budget * jobs}s", "--cache-dir", cache, "--json"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(map(str, command))}:\n{done.stderr}")
        rows += json.loads(done.stdout)["rows"]
    return rows


def measure_all(options):
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="plait-ablate-") as cache:
        for model in options.models:
            target = options.out / f"{model.stem}.json"
            if target.exists():
                continue
            rows = measure(options.plait, model, cache, options.budget)
            target.write_text(json.dumps({"model": model.stem, "rows": rows}, indent=1) + "\n",
                              encoding="utf-8")
            print(f"{model.stem}: {len(rows)} pairs", file=sys.stderr)


def read(folders):
    """Rows by model and (search, schedule)."""
    models = {}
    for folder in folders:
        for path in sorted(pathlib.Path(folder).glob("*.json")):
            entry = json.loads(path.read_text(encoding="utf-8"))
            models[entry["model"]] = {(row["search"], row["schedule"]): row
                                      for row in entry["rows"]}
    return models


def overlap(one, other):
    return max(one["speedup_low"], other["speedup_low"]) <= min(one["speedup_high"],
                                                               other["speedup_high"])


def cell(row, ours, published):
    """"1.07= / 1.13": the system's time by AutoGraph's."""
    ratio = f"{ours['speedup'] / row['speedup']:.2f}{'=' if overlap(row, ours) else ''}"
    return ratio if published is None else f"{ratio} / {published:.2f}"


def systems_table(models):
    others = [system for system in COLUMNS if system != "AutoGraph"]
    lines, ratios = [], {system: [] for system in others}
    for model, paper in PAPER.items():
        if model not in models:
            continue
        rows = models[model]
        ours = rows[COLUMNS["AutoGraph"]]
        times = dict(zip(SYSTEMS, paper))
        line = [model, f"{ours['latency_us_median'] / 1000:.2f}"]
        for system in others:
            row = rows[COLUMNS[system]]
            published = times.get(system)
            line.append(cell(row, ours, published and published / paper[-1]))
            ratios[system].append(ours["speedup"] / row["speedup"])
        lines.append(line)
    means = (f"{geometric_mean(ratios[name]):.3f}" for name in others)
    lines.append(["geometric mean", "", *means])
    return table(["model", "AutoGraph, ms", *others], lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    measuring = verbs.add_parser("measure")
    measuring.add_argument("models", nargs="+", type=pathlib.Path, metavar="MODEL")
    measuring.add_argument("--out", type=pathlib.Path, required=True, metavar="FOLDER")
    measuring.add_argument("--plait", default="build/plait", metavar="PROGRAM")
    measuring.add_argument("--budget", type=float, default=60, help="seconds of each job")
    printing = verbs.add_parser("print")
    printing.add_argument("folders", nargs="+", type=pathlib.Path, metavar="FOLDER")
    options = parser.parse_args()
    if options.verb == "measure":
        measure_all(options)
    else:
        print(systems_table(read(options.folders)), end="")


if __name__ == "__main__":
    main()
