#!/usr/bin/env python3
"""Says how much larger plans make models: a line for each, as a Markdown table.

    plan_growth.py ORIGINALS OPTIMIZED

ORIGINALS is a folder of NAME.onnx, and OPTIMIZED one of what `plait optimize` made of them, as
NAME.onnx or NAME.opt.onnx; models without one are skipped. A plan may take 256 KiB, or 3 % of the
original where that is more. `largest` is what the texts of one plan take, packed: plans that share
a graph have it once, in the first of them.

Exit code 1: a file has grown by more than its plans may, or no model has an optimized one; 2 usage.
"""

import argparse
import collections
import pathlib
import re
import sys

import onnx

KIBIBYTE = 1024
PLAN_BYTES = 256 * KIBIBYTE
PLAN_SHARE = 0.03
# plait.plan is of the first plan, plait.plan.1 of the second.
ENTRY = re.compile(r"plait\.(plan|graph|version|rewrites|original)(?:\.(\d+))?")
COLUMNS = ("model", "original KiB", "plans", "growth KiB", "a plan KiB", "largest KiB",
           "allowed a plan KiB")


def allowed_bytes(original_bytes):
    """What a plan may add to a file of so many bytes."""
    return max(PLAN_BYTES, PLAN_SHARE * original_bytes)


def plan_bytes(path):
    """The packed bytes of each plan in a file."""
    sizes = collections.Counter()
    for entry in onnx.load(path, load_external_data=False).metadata_props:
        found = ENTRY.fullmatch(entry.key)
        if found:
            sizes[int(found.group(2) or 0)] += len(entry.value)
    return [sizes[number] for number in sorted(sizes)]


def grown(original, optimized):
    """The row of one model, and whether it has grown by no more than its plans may."""
    before, plans = original.stat().st_size, plan_bytes(optimized)
    growth = optimized.stat().st_size - before
    allowed = allowed_bytes(before)
    numbers = (growth, growth / max(1, len(plans)), max(plans, default=0), allowed)
    row = (original.stem, f"{before / KIBIBYTE:,.0f}", str(len(plans)),
           *(f"{number / KIBIBYTE:,.1f}" for number in numbers))
    return row, growth <= len(plans) * allowed and all(size <= allowed for size in plans)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("originals", type=pathlib.Path, metavar="ORIGINALS")
    parser.add_argument("optimized", type=pathlib.Path, metavar="OPTIMIZED")
    arguments = parser.parse_args()
    print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}")
    kept = []
    for original in sorted(arguments.originals.glob("*.onnx")):
        names = (f"{original.stem}.opt.onnx", original.name)
        found = [path for name in names if (path := arguments.optimized / name).exists()]
        if not found:
            continue
        row, is_kept = grown(original, found[0])
        kept.append(is_kept)
        print(f"| {' | '.join(row)} |{'' if is_kept else ' more than allowed'}", flush=True)
    print(f"within the limit: {sum(kept)} of {len(kept)}")
    return 0 if kept and all(kept) else 1


if __name__ == "__main__":
    sys.exit(main())
