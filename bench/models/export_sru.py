"""Writes rnntc_sru: ten SRU layers of 512 units over ten time steps, built by hand.

No framework exports this model unrolled, so sru.py writes its nodes with the onnx helper.
"""

import argparse
import pathlib
import sys

import export_common
from sru import sru_model

LAYERS, HIDDEN, STEPS = 10, 512, 10


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="+", choices=["rnntc_sru"], metavar="NAME")
    parser.add_argument("--out", required=True, help="folder for the .onnx file")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    model = sru_model("rnntc_sru", arguments.seed, LAYERS, HIDDEN, STEPS)
    export_common.finish(model, pathlib.Path(arguments.out) / "rnntc_sru.onnx")
    return 0


if __name__ == "__main__":
    sys.exit(main())
