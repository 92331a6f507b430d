#!/usr/bin/env python3
"""What searched rules are worth: the best plan with them, and the best one without.

`measure` gives each model two jobs of the same budget, with the same schedules (--schedule plait)
and the same kernels, of which a job before them has measured the profiles: one searches (--search
plait), the other has only the rules that always win (--search normal_form). Then `plait gate` times
the two results in turns until one of them is surely faster or its time is out. A line of JSON is
added to --out as each model is done, and a model that is there already is passed over, so a run
that was ended goes on. `print` writes Markdown. Above 1 the searched plan is faster; two jobs that
returned the same plan are equal, and not timed. Run it on an idle machine.

    python bench/search/searched_rules.py measure build/models/*.onnx --out LINES.jsonl
    python bench/search/searched_rules.py measure build/models/resnet50.onnx --budget 3m \\
        --gate-budget 5m --out LINES.jsonl
    python bench/search/searched_rules.py print LINES.jsonl

Exit codes: 0 all well, 1 a job or the gate failed, 2 usage.
"""

import argparse
import json
import pathlib
import sys
import tempfile

import gated_jobs
from autograph_table import geometric_mean, table

ROOT = pathlib.Path(__file__).resolve().parents[2]
# By what a row calls them. The gate's base is the searched plan, so that its ratio, the other's
# time by that, is the gain.
SEARCHES = {"searched": "plait", "without": "normal_form"}


def facts_of(report):
    """What a row keeps of a job."""
    search = report["search"]
    return {"origin": report["optimized"]["origin"], "plan": report["plan"]["digest"],
            "speedup": report["speedup"], "rules_applied": search["rules_applied"],
            "candidates": search["candidates"], "profiles_measured": search["profiles_measured"],
            "budget_exhausted": search["budget_exhausted"]}


def is_one_plan(row):
    """Whether both jobs returned the same plan of the same graph."""
    return all(row["searched"][key] == row["without"][key] for key in ("plan", "rules_applied"))


def verdict_of(row):
    """Of the interval: "beats", "undecided" or "loses"; "equal" where both plans are one."""
    if is_one_plan(row):
        return "equal"
    ratio = row["gate"]["ratio"]
    if ratio["low"] is not None and ratio["low"] > 1:
        return "beats"
    return "loses" if ratio["high"] is not None and ratio["high"] < 1 else "undecided"


def measure(options, model):
    row = {"model": model.stem, "budget": options.budget, "gate_budget": options.gate_budget,
           "gate": None}
    with tempfile.TemporaryDirectory(prefix="plait-searched-rules-") as name:
        folder = pathlib.Path(name)
        common = ("--schedule", "plait", "--budget", options.budget, "--no-result-cache")

        def job(search):
            output = folder / f"{search}.onnx"
            report, seconds = gated_jobs.optimize(options.plait, model, output, folder / "cache",
                                                  "--search", search, *common)
            return output, {**facts_of(report), "seconds": round(seconds, 2)}

        # What it measures is what both others ask for.
        job(SEARCHES["searched"])
        outputs = []
        for which, search in SEARCHES.items():
            output, row[which] = job(search)
            outputs.append(output)
        if not is_one_plan(row):
            row["gate"] = gated_jobs.gate(options.plait, *outputs, "0%", options.gate_budget)
    return row


def read(path):
    """Rows by model."""
    if not path.exists():
        return {}
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return {row["model"]: row for row in rows}


def measure_all(options):
    known = read(options.out)
    for row in known.values():
        if (row["budget"], row["gate_budget"]) != (options.budget, options.gate_budget):
            print(f"{options.out} has {row['model']} with --budget {row['budget']} and "
                  f"--gate-budget {row['gate_budget']}: name another file", file=sys.stderr)
            return 2
    failed = False
    for model in options.models:
        if model.stem in known:
            continue
        try:
            row = measure(options, model)
        except RuntimeError as error:
            print(error, file=sys.stderr)
            failed = True
            continue
        with options.out.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(row) + "\n")
        print(" | ".join(cells_of(row)), flush=True)
    return 1 if failed else 0


def cells_of(row):
    rules = row["searched"]["rules_applied"]
    without = row["without"]["rules_applied"]
    searched = [f"{rule} x{count - without.get(rule, 0)}" for rule, count in rules.items()
                if count > without.get(rule, 0)]
    ratio = gated_jobs.ratio_text(row["gate"]["ratio"]) if row["gate"] else "1"
    return [row["model"], ratio, verdict_of(row), ", ".join(searched) or "none",
            str(row["searched"]["candidates"]),
            f"{row['searched']['seconds']:.0f} / {row['without']['seconds']:.0f}"]


def summary(rows):
    verdicts = [verdict_of(row) for row in rows]
    counts = ", ".join(f"{name} {verdicts.count(name)}"
                       for name in ("beats", "undecided", "equal", "loses"))
    ratios = [row["gate"]["ratio"]["median"] if row["gate"] else 1 for row in rows]
    return [f"geometric mean of {len(rows)}", f"{geometric_mean(ratios):.3f}", counts, "", "", ""]


def print_all(options):
    rows = list(read(options.lines).values())
    if not rows:
        print(f"{options.lines} has no rows", file=sys.stderr)
        return 1
    print(table(["model", "time without / with searched rules", "verdict",
                 "rules that only the searched plan has", "graphs priced", "s: with / without"],
                [*map(cells_of, rows), summary(rows)]), end="")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    measuring = commands.add_parser("measure", help="two jobs and a gate for each model")
    measuring.add_argument("models", nargs="+", type=pathlib.Path, metavar="MODEL")
    measuring.add_argument("--out", type=pathlib.Path, required=True, metavar="LINES.jsonl")
    measuring.add_argument("--budget", default="60s", help="of each job; default 60s")
    measuring.add_argument("--gate-budget", default="120s", help="of each gate; default 120s")
    measuring.add_argument("--plait", type=pathlib.Path, default=ROOT / "build" / "plait")
    measuring.set_defaults(run=measure_all)
    printing = commands.add_parser("print", help="the rows as Markdown")
    printing.add_argument("lines", type=pathlib.Path, metavar="LINES.jsonl")
    printing.set_defaults(run=print_all)
    options = parser.parse_args()
    return options.run(options)


if __name__ == "__main__":
    sys.exit(main())
