#!/usr/bin/env python3
"""Runs one file with open dimensions at many shapes, in a session of plait and of ONNX Runtime.

    shapes.py FASTER.onnx --sizes batch=1,2,4,8 --sizes length=16,64,256

For each combination of sizes: the largest difference between outputs, relative to the largest
output; milliseconds of plait's first run of that shape, which binds the plan to it, and of later
ones (the median); those of ONNX Runtime; the ratio of the later ones. plait is
plait.InferenceSession of the wheel that is installed beside the peers; shapes come in the order of
the sizes, the last given fastest. Only one of the two runs at a time, after a pause, so that the
other's threads have come to rest; later runs are taken again where the machine was disturbed, as in
peers.py.

Exit codes: 0 all agree, 1 an output differs by more than --tolerance, 2 usage.
"""

import argparse
import contextlib
import itertools
import pathlib
import statistics
import sys
import time

import numpy as np
import onnxruntime
import plait

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "models"))

import machine_watch  # noqa: E402 (behind the line above, as what follows)
import sample_inputs  # noqa: E402
from check_equal import relative_error  # noqa: E402

ROOT = HERE.parent.parent
PAUSE_S = 0.1


def sizes_of(text):
    """`name=1,2,3` as (name, [1, 2, 3])."""
    name, _, sizes = text.partition("=")
    if not name or not all(size.isdecimal() for size in sizes.split(",")):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=SIZE,SIZE,...")
    return name, [int(size) for size in sizes.split(",")]


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=pathlib.Path, metavar="FASTER.onnx")
    parser.add_argument("--sizes", type=sizes_of, action="append", required=True,
                        metavar="NAME=SIZES", help="an open dimension, and what it becomes")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--runs", type=int, default=9, help="later runs of each shape (9)")
    parser.add_argument("--tolerance", type=float, default=1e-4)
    parser.add_argument("--plait", type=pathlib.Path, default=ROOT / "build" / "plait",
                        metavar="PROGRAM", help="beside which plait_child is (build/plait)")
    return parser.parse_args()


def feeds_of(session, sizes):
    """Seeded inputs of that shape."""
    feeds = {}
    for info in session.get_inputs():
        shape = [size if isinstance(size, int) else sizes[size] for size in info.shape]
        feeds[info.name] = sample_inputs.input_array(
            info.name, shape, sample_inputs.NUMPY_TYPE_OF_ORT[info.type], seed=1)
    return feeds


def milliseconds_of(session, feeds):
    """The outputs of one run, and what it took."""
    began = time.perf_counter()
    outputs = session.run(None, feeds)
    return outputs, (time.perf_counter() - began) * 1000


def timed(session, feeds, runs, watch):
    """The outputs, and milliseconds of the first run and of the median of the others."""
    time.sleep(PAUSE_S)
    outputs, first = milliseconds_of(session, feeds)

    def later():
        session.run(None, feeds)
        return statistics.median(milliseconds_of(session, feeds)[1] for _ in range(runs))
    return outputs, first, watch.take(later, PAUSE_S)[0]


def peer_session(path, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def main():
    arguments = parse()
    with contextlib.ExitStack() as stack:
        watch = machine_watch.MachineWatch()
        watch.start(arguments, stack)
        worst = compare(arguments, watch)
    return 0 if worst <= arguments.tolerance else 1


def compare(arguments, watch):
    """Prints a row per shape; returns the largest error."""
    own = plait.InferenceSession(arguments.model, threads=arguments.threads)
    peer = peer_session(arguments.model, arguments.threads)
    names = [name for name, _ in arguments.sizes]
    print(f"{' '.join(names):<16} {'error':>9} {'first':>9} {'later':>9} {'its first':>10} "
          f"{'its later':>10} {'ratio':>6}")
    worst, ratios = 0.0, []
    for combination in itertools.product(*(sizes for _, sizes in arguments.sizes)):
        feeds = feeds_of(peer, dict(zip(names, combination)))
        outputs, first, later = timed(own, feeds, arguments.runs, watch)
        expected, peer_first, peer_later = timed(peer, feeds, arguments.runs, watch)
        error = max(map(relative_error, map(np.asarray, expected), map(np.asarray, outputs)))
        worst = max(worst, error)
        ratios.append(peer_later / later)
        print(f"{' '.join(map(str, combination)):<16} {error:>9.1e} {first:>9.2f} {later:>9.2f} "
              f"{peer_first:>10.2f} {peer_later:>10.2f} {ratios[-1]:>6.2f}", flush=True)
    print(f"{len(ratios)} shapes, largest error {worst:.1e}, ONNX Runtime / plait: "
          f"{statistics.geometric_mean(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")
    return worst


if __name__ == "__main__":
    sys.exit(main())
