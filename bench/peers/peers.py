#!/usr/bin/env python3
"""Compares plait with ONNX Runtime and OpenVINO on ONNX files.

Each runtime lives in a process of its own, because threads that still spin after a run would slow
the next one. Rounds are interleaved: in each, every runtime times some runs after a pause, in an
order that is drawn for the round. All get the same file, the same seeded inputs (never
zeros), the same number of threads and turns of the same length. Every third of the least rounds,
and of those added, begins with new processes, because what a load is lucky with lasts as long as
it does.

With --optimized FOLDER, plait times FOLDER/NAME.onnx (what `plait optimize` wrote) instead of the
original, and the peers time that file too, as onnxruntime+plait and openvino+plait. With
--baseline FOLDER, plait also times its baseline plan, one kernel per operator, as plait-baseline.
plait-again is plait once more: what its ratio is away from 1 is noise. plait-session, where
--runtimes names it, is plait.InferenceSession of the wheel that is installed beside the peers, from
Python as they are.

A turn is taken again, up to five times, where right before or right behind it the host has parted
the processors, multiply-adds run at less than 90 % or memory is read at less than 75 % of what is
usual here. Rounds with a turn that never was undisturbed, or in which the host took more than 1 %
of the processor time, do not count; rounds are added until the 95 % interval of the better peer's
time over plait's is within 3 % of its median, and in each peer that of the original's time over the
returned file's within 2 %, or there are --rounds-max, or --model-seconds-max are over.

Columns: median, p10 and p95 over the runs (medians over the rounds); spread is (max - min) / median
of the round medians; % peak is the model's flops by the median over the processor's fp32 peak; MiB
is the peak of the process's memory; error is the largest |a-b| over the largest |a| against ONNX
Runtime, of the worst output.

With --json FILE each model is written when it is done, and the same command goes on where an
earlier one was ended; remove the file to measure anew. A FILE that holds what was measured on
another machine, by other programs or with other options is refused.

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
                        help=f"which take part ({','.join(RUNTIMES)}); there is "
                             f"{comparison.SESSION}, too")
    parser.add_argument("--optimized", type=pathlib.Path, metavar="FOLDER",
                        help="folder of plait's optimized files, named like the originals")
    parser.add_argument("--baseline", type=pathlib.Path, metavar="FOLDER",
                        help="folder of what `plait optimize --search none` wrote")
    parser.add_argument("--plait", type=pathlib.Path, default=ROOT / "build" / "plait",
                        metavar="PROGRAM", help="the plait program (build/plait)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="fp32",
                        help="what OpenVINO computes in, and plait's plans at most: bf16 takes "
                             "what `plait optimize --precision bf16` wrote (fp32)")
    parser.add_argument("--rounds", type=int, default=15, help="at least so many (15)")
    parser.add_argument("--rounds-max", type=int, default=60,
                        help="at most, where the interval is wide (60)")
    parser.add_argument("--model-seconds-max", type=float, metavar="S",
                        help="no further rounds of a model after this time, where six count: its "
                             "interval may be wide then (no limit)")
    parser.add_argument("--round-ms", type=float, default=400.0,
                        help="length of a turn, at least three runs (400)")
    parser.add_argument("--pause-ms", type=float, default=200.0,
                        help="rest before each turn (200)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the inputs (1)")
    parser.add_argument("--dynamic-size", type=int, default=1, metavar="N",
                        help="what symbolic dimensions become (1)")
    parser.add_argument("--input-scale", type=float, default=1.0, metavar="X",
                        help="floating-point inputs are uniform in [-X, X) (1)")
    parser.add_argument("--beside-spinner", action="store_true",
                        help="a process spins on one core meanwhile; no turn is taken "
                             "again then")
    parser.add_argument("--timeout-s", type=float, default=600.0, help="per answer (600)")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE",
                        help="also write the results, by custom to bench/results/cpu/PROCESSOR")
    arguments = parser.parse_args()
    arguments.runtimes = arguments.runtimes.split(",")
    unknown = set(arguments.runtimes) - {*RUNTIMES, comparison.SESSION}
    if unknown:
        parser.error(f"unknown runtime {sorted(unknown)[0]!r}; there are "
                     f"{', '.join((*RUNTIMES, comparison.SESSION))}")
    for path in arguments.models:
        if not path.is_file():
            parser.error(f"no such file: {path}")
    if arguments.rounds < 1 or arguments.threads < 1:
        parser.error("--rounds and --threads must be positive")
    if not arguments.input_scale > 0:
        parser.error("--input-scale must be positive")
    return arguments


def main():
    arguments = parse()
    try:
        document = report.Document(arguments.json, arguments, comparison.programs(arguments))
    except report.OtherRecord as refusal:
        print(f"peers.py: {refusal}", file=sys.stderr)
        return 2
    print(report.HEADER, flush=True)
    entries = []
    for path in arguments.models:
        digests = report.digests_of(path, comparison.rows_for(path, arguments))
        entry = document.find(digests)
        if entry:
            print(f"{entry['name']}: measured already, see {arguments.json}", flush=True)
        else:
            try:
                result = comparison.compare_model(path, arguments)
            except comparison.ModelFailure as failure:
                print(f"peers.py: {failure}", file=sys.stderr)
                return 1
            print(report.table_rows(result, document.peaks, arguments.threads), flush=True)
            entry = document.add(result, digests)
        entries.append(entry)
    print(report.summary(entries))
    return 0 if all("failure" not in row for entry in entries for row in entry["runtimes"]) else 1


if __name__ == "__main__":
    sys.exit(main())
