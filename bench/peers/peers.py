#!/usr/bin/env python3
"""Compares plait with ONNX Runtime and OpenVINO on ONNX files.

Each runtime lives in a process of its own, because threads that still spin after a run would slow
the next one. Rounds are interleaved: a token goes round robin, its holder times some runs after a
pause, and the order turns by one place each round. All get the same file, the same seeded inputs
(never zeros), the same number of threads, batch 1 and fp32.

With --optimized FOLDER, plait times FOLDER/NAME.onnx (what `plait optimize` wrote) instead of the
original, and ONNX Runtime times that file too, as onnxruntime+plait. With --baseline FOLDER, plait
also times its baseline plan, one kernel per operator, as plait-baseline.

Columns: median, p10 and p95 over the runs (medians over the rounds); spread is (max - min) / median
of the round medians; "vs ort" is ONNX Runtime's time over this one's, the median of the per-round
ratios, above 1 where this one is faster; error is the largest |a-b| over the largest |a| against
ONNX Runtime, of the worst output.

Exit codes: 0 all have numbers, 1 a runtime or a file failed (its row says why), 2 usage.
"""

import argparse
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "models"))

try:
    import comparison
    import report
except ImportError as missing:
    sys.exit(f"peers.py: {missing.name} is missing (make an environment: python3 -m venv "
             "build/venv-peers && build/venv-peers/bin/pip install -r "
             "bench/peers/requirements-peers.txt)")

RUNTIMES = ("onnxruntime", "openvino", "plait")


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=pathlib.Path, metavar="MODEL.onnx")
    parser.add_argument("--runtimes", default=",".join(RUNTIMES),
                        help=f"which take part ({','.join(RUNTIMES)})")
    parser.add_argument("--optimized", type=pathlib.Path, metavar="FOLDER",
                        help="folder of plait's optimized files, named like the originals")
    parser.add_argument("--baseline", type=pathlib.Path, metavar="FOLDER",
                        help="folder of what `plait optimize --search none` wrote")
    parser.add_argument("--plait", type=pathlib.Path, default=ROOT / "build" / "plait",
                        metavar="PROGRAM", help="the plait program (build/plait)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--round-ms", type=float, default=400.0,
                        help="time one runtime computes per round, at least three runs (400)")
    parser.add_argument("--pause-ms", type=float, default=200.0,
                        help="rest before each turn (200)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the inputs (1)")
    parser.add_argument("--dynamic-size", type=int, default=1, metavar="N",
                        help="what symbolic dimensions become (1)")
    parser.add_argument("--timeout-s", type=float, default=600.0, help="per answer (600)")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE",
                        help="also write the results, by custom to bench/results/NAME.json")
    arguments = parser.parse_args()
    arguments.runtimes = arguments.runtimes.split(",")
    unknown = set(arguments.runtimes) - set(RUNTIMES)
    if unknown:
        parser.error(f"unknown runtime {sorted(unknown)[0]!r}; there are {', '.join(RUNTIMES)}")
    for path in arguments.models:
        if not path.is_file():
            parser.error(f"no such file: {path}")
    if arguments.rounds < 1 or arguments.threads < 1:
        parser.error("--rounds and --threads must be positive")
    return arguments


def main():
    arguments = parse()
    results = []
    print(report.HEADER, flush=True)
    for path in arguments.models:
        try:
            result = comparison.compare_model(path, arguments)
        except comparison.ModelFailure as failure:
            print(f"peers.py: {failure}", file=sys.stderr)
            return 1
        results.append(result)
        print(report.table_rows(result), flush=True)
        if arguments.json:
            report.write_json(arguments.json, arguments, results)
    return 0 if all(row.failure is None for result in results for row in result.rows) else 1


if __name__ == "__main__":
    sys.exit(main())
