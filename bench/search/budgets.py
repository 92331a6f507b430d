#!/usr/bin/env python3
"""What more time would find: `budgets.py measure MODEL... --out FOLDER`, `budgets.py print FOLDER`.

`measure` optimizes each model twice, each time with nothing known of the device: with the default
budget and with --budget. `plait gate` then times the two results in turns, and FOLDER/MODEL.json
keeps what it says; a model that is there already is passed over. `print` writes Markdown. Above 1
the longer job's plan is faster. Run it on an idle machine.

    python bench/search/budgets.py measure build/models/resnet50.onnx --budget 10m --out FOLDER

Exit codes: 0 all well, 1 a job or the gate failed, 2 usage.
"""

import argparse
import json
import pathlib
import sys
import tempfile

import gated_jobs

ROOT = pathlib.Path(__file__).resolve().parents[2]
REGRESSION_MAX = "3%"
GATE_BUDGET = "120s"


def job(plait, model, output, *options):
    with tempfile.TemporaryDirectory(prefix="plait-budgets-") as cache:
        report, seconds = gated_jobs.optimize(plait, model, output, cache, *options)
    return {"seconds": seconds, "speedup": report.get("speedup")}


def measure(plait, model, budget):
    with tempfile.TemporaryDirectory(prefix="plait-budgets-") as folder:
        outputs = [pathlib.Path(folder) / f"{name}.onnx" for name in ("longer", "default")]
        longer = job(plait, model, outputs[0], "--budget", budget)
        default = job(plait, model, outputs[1])
        gate = gated_jobs.gate(plait, *outputs, REGRESSION_MAX, GATE_BUDGET)
    return {"model": model.stem, "budget": budget, "longer": longer, "default": default,
            "gate": gate}


def measure_all(options):
    options.out.mkdir(parents=True, exist_ok=True)
    failed = False
    for model in options.models:
        target = options.out / f"{model.stem}.json"
        if target.exists():
            continue
        try:
            row = measure(options.plait, model, options.budget)
        except RuntimeError as error:
            print(error, file=sys.stderr)
            failed = True
            continue
        target.write_text(json.dumps(row, indent=1) + "\n", encoding="utf-8")
        print(text(row), flush=True)
    return 1 if failed else 0


def text(row):
    return (f"| {row['model']} | {row['default']['seconds']:.0f} | {row['longer']['seconds']:.0f} "
            f"| {gated_jobs.ratio_text(row['gate']['ratio'])} | {row['gate']['verdict']} |")


def print_all(options):
    rows = [json.loads(path.read_text()) for path in sorted(options.folder.glob("*.json"))]
    print(f"| model | default budget, s | longer, s | its time / the longer's | within "
          f"{REGRESSION_MAX} |\n|---|---|---|---|---|")
    for row in rows:
        print(text(row))
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    measuring = commands.add_parser("measure")
    measuring.add_argument("models", nargs="+", type=pathlib.Path)
    measuring.add_argument("--out", type=pathlib.Path, required=True)
    measuring.add_argument("--budget", default="10m")
    measuring.add_argument("--plait", type=pathlib.Path, default=ROOT / "build" / "plait")
    measuring.set_defaults(run=measure_all)
    printing = commands.add_parser("print")
    printing.add_argument("folder", type=pathlib.Path)
    printing.set_defaults(run=print_all)
    options = parser.parse_args()
    return options.run(options)


if __name__ == "__main__":
    sys.exit(main())
