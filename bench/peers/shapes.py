#!/usr/bin/env python3
"""Runs one file with open dimensions at many shapes, in a session of plait and of ONNX Runtime.

    shapes.py FASTER.onnx --sizes batch=1,2,4,8 --sizes length=16,64,256

A session runs every combination of sizes for the first time, which binds a plan to it, and then
later times; as a process has but one first run of a shape, there are several (--firsts), each with
an order of the shapes of its own. plait is plait.InferenceSession of the wheel that is installed
beside the peers. Only one process is there at a time, and each run has a pause before it. Later
runs are taken again where the machine was disturbed, as in peers.py; a disturbed first run does not
count, and is made in a further process, of which there are --processes-max at most.

Columns: the largest difference between outputs, relative to the largest output; the plan: the
shape's own in the file, another one that is bound to it, or, where none in the file fits this
machine, a default one; milliseconds of plait's first run, of
later ones, and of the first less the later ones of the same process, each a median over the
processes; the first and later ones of ONNX Runtime; the ratio of the later ones.

Exit codes: 0 all agree, and no first run takes more than --first-extra-ms-max longer than later
ones, 1 an output differs by more than --tolerance, a first run takes longer or could not be
measured, or a runtime failed, 2 usage.
"""

import argparse
import contextlib
import dataclasses
import itertools
import json
import pathlib
import random
import statistics
import sys
import tempfile

import onnx

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "models"))

import machine_watch  # noqa: E402 (behind the line above, as what follows)
import moved  # noqa: E402
import participants  # noqa: E402
import records  # noqa: E402
import rounds  # noqa: E402
import sample_inputs  # noqa: E402
from check_equal import relative_error  # noqa: E402

ROOT = HERE.parent.parent
RUNTIMES = ("plait", "onnxruntime")
FIRSTS_MIN = 3
PAUSE_S = 0.1


@dataclasses.dataclass(frozen=True)
class Sample:
    """The first run of a shape in a process and the median of later ones, in milliseconds;
    `disturbed` says why it does not count."""

    first_ms: float
    later_ms: float
    disturbed: str | None


@dataclasses.dataclass
class Shape:
    """A combination of sizes, its inputs and what was measured there."""

    sizes: dict
    inputs: pathlib.Path  # a folder
    plan: str  # own, bound or default
    samples: dict = dataclasses.field(default_factory=lambda: {name: [] for name in RUNTIMES})
    outputs: dict = dataclasses.field(default_factory=dict)

    @property
    def name(self):
        return " ".join(map(str, self.sizes.values()))

    def counted(self, runtime):
        return [sample for sample in self.samples[runtime] if sample.disturbed is None]

    def median_ms(self, runtime, of):
        """The median of a function of the samples that count; None where there is none."""
        return statistics.median(map(of, self.counted(runtime))) if self.counted(runtime) else None


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
                        metavar="NAME=SIZES",
                        help="an open dimension, and what it becomes (others 1)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--runs", type=int, default=9, help="later runs of each shape (9)")
    parser.add_argument("--firsts", type=int, default=FIRSTS_MIN,
                        help=f"first runs of each shape that count, at least ({FIRSTS_MIN})")
    parser.add_argument("--processes-max", type=int, default=9,
                        help="of each runtime, where first runs were disturbed (9)")
    parser.add_argument("--first-extra-ms-max", type=float, default=20.0, metavar="MS",
                        help="how much longer than later ones a first run may take (20)")
    parser.add_argument("--tolerance", type=float, default=1e-4)
    parser.add_argument("--timeout-s", type=float, default=600.0, help="per answer (600)")
    parser.add_argument("--plait", type=pathlib.Path, default=ROOT / "build" / "plait",
                        metavar="PROGRAM", help="the plait program (build/plait)")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="also write the figures")
    arguments = parser.parse_args()
    for path in (arguments.model, arguments.plait):
        if not path.is_file():
            parser.error(f"no such file: {path}")
    if not FIRSTS_MIN <= arguments.firsts <= arguments.processes_max:
        parser.error(f"--firsts is {FIRSTS_MIN} to --processes-max")
    return arguments


def shapes_of(model, arguments, folder):
    """Every combination of sizes, the last given fastest, with its inputs in the folder."""
    plans = [plan["shapes"] for plan in participants.plans_of(arguments.model, arguments)
             if plan["fits"]]
    names = [name for name, _ in arguments.sizes]
    shapes = []
    for combination in itertools.product(*(sizes for _, sizes in arguments.sizes)):
        sizes = dict(zip(names, combination))
        feeds = sample_inputs.model_inputs(model, seed=1, sizes=sizes)
        inputs = folder / f"inputs of {len(shapes)}"
        inputs.mkdir()
        moved.save_inputs(feeds, inputs)
        own = {name: list(array.shape) for name, array in feeds.items()}
        plan = "own" if own in plans else "bound" if plans else "default"
        shapes.append(Shape(sizes, inputs, plan))
    return shapes


def open_dimensions(model):
    return {dimension.dim_param for info in model.graph.input
            for dimension in info.type.tensor_type.shape.dim} - {""}


def sample_of(child, shape, runs, watch):
    """What a process takes for a shape that it has not run before."""
    def first():
        asked = {"command": "first", "folder": str(shape.inputs)}
        return child.ask(asked, "samples_us")["samples_us"][0] / 1000
    # There is no second first run here, and then no more is wanted than that there are numbers.
    first_ms, disturbances = watch.take(first, PAUSE_S, tries=1)
    tries = 1 if disturbances else rounds.TURN_TRIES
    later_ms, others = watch.take(lambda: child.time(runs).median / 1000, PAUSE_S, tries)
    if len(others) == tries:
        disturbances += others
    return Sample(first_ms, later_ms, disturbances[0] if disturbances else None)


def run_process(runtime, shapes, number, arguments, watch):
    """Runs the shapes in a new process, in an order that its number decides on."""
    command = [sys.executable, participants.CHILD, "--runtime", f"{runtime}-shapes", "--threads",
               arguments.threads]
    with participants.Participant(runtime, command, arguments.timeout_s) as child:
        child.ask({"command": "load", "model": str(arguments.model.resolve()), "folder": None},
                  "version")
        for shape in random.Random(number).sample(shapes, len(shapes)):
            shape.samples[runtime].append(sample_of(child, shape, arguments.runs, watch))
            if runtime not in shape.outputs:
                with tempfile.TemporaryDirectory() as folder:
                    shape.outputs[runtime] = child.outputs(folder)


def measure(shapes, arguments, watch):
    """Processes of either runtime, until each shape has as many first runs as are wanted."""
    for number in range(arguments.processes_max):
        for runtime in random.Random(number).sample(RUNTIMES, len(RUNTIMES)):
            lacking = [shape for shape in shapes
                       if len(shape.counted(runtime)) < arguments.firsts]
            if lacking:
                run_process(runtime, lacking, number, arguments, watch)


def figures_of(shape):
    """The medians of a shape; None for what no sample that counts tells."""
    own, peer = shape.outputs["plait"], shape.outputs["onnxruntime"]
    figures = {"sizes": shape.sizes, "plan": shape.plan,
               "max_rel_error": max(relative_error(peer[name], own[name]) for name in peer)}
    for runtime in RUNTIMES:
        figures[runtime] = {
            "first_ms_median": shape.median_ms(runtime, lambda sample: sample.first_ms),
            "later_ms_median": shape.median_ms(runtime, lambda sample: sample.later_ms),
            "first_extra_ms_median": shape.median_ms(
                runtime, lambda sample: sample.first_ms - sample.later_ms),
            "counted": len(shape.counted(runtime)),
            "samples": [dataclasses.asdict(sample) for sample in shape.samples[runtime]]}
    laters = [figures[runtime]["later_ms_median"] for runtime in RUNTIMES]
    figures["ratio"] = None if None in laters else laters[1] / laters[0]
    return figures


def cell(value, width, form=".2f"):
    return f"{'-' if value is None else format(value, form):>{width}}"


def table_of(names, shapes, entries):
    yield (f"{' '.join(names):<16} {'error':>9} {'plan':>7} {'first':>9} {'later':>9} "
           f"{'first - later':>14} {'its first':>10} {'its later':>10} {'ratio':>6}")
    for shape, entry in zip(shapes, entries):
        own, peer = entry["plait"], entry["onnxruntime"]
        yield (f"{shape.name:<16} {entry['max_rel_error']:>9.1e} "
               f"{entry['plan']:>7} {cell(own['first_ms_median'], 9)} "
               f"{cell(own['later_ms_median'], 9)} {cell(own['first_extra_ms_median'], 14)} "
               f"{cell(peer['first_ms_median'], 10)} {cell(peer['later_ms_median'], 10)} "
               f"{cell(entry['ratio'], 6)}")
    ratios = [entry["ratio"] for entry in entries if entry["ratio"] is not None]
    mean = (f"{statistics.geometric_mean(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
            if ratios else "nothing follows")
    worst = max(entry["max_rel_error"] for entry in entries)
    yield f"{len(entries)} shapes, largest error {worst:.1e}, ONNX Runtime / plait: {mean}"
    yield "the file has plans for: " + (
        ", ".join(shape.name for shape in shapes if shape.plan == "own") or "none of them")
    samples = [sample for entry in entries for runtime in RUNTIMES
               for sample in entry[runtime]["samples"]]
    disturbed = sum(sample["disturbed"] is not None for sample in samples)
    yield f"first runs: {len(samples)}, of which {disturbed} were disturbed and do not count"


def faults_of(shapes, entries, arguments):
    """What is wrong at which shape."""
    for shape, entry in zip(shapes, entries):
        own = entry["plait"]
        if not entry["max_rel_error"] <= arguments.tolerance:
            yield f"{shape.name}: the outputs differ by {entry['max_rel_error']:.1e}"
        if own["counted"] < arguments.firsts:
            yield (f"{shape.name}: {own['counted']} of {arguments.firsts} first runs were "
                   "undisturbed")
        elif own["first_extra_ms_median"] > arguments.first_extra_ms_max:
            yield (f"{shape.name}: the first run takes {own['first_extra_ms_median']:.1f} ms "
                   f"longer than later ones, at most {arguments.first_extra_ms_max:g}")


def keep(entries, arguments):
    head = records.head(arguments.plait, RUNTIMES, {"model": arguments.model})
    options = {option: getattr(arguments, option) for option in (
        "threads", "runs", "firsts", "processes_max", "first_extra_ms_max", "tolerance")}
    arguments.json.write_text(json.dumps(
        head | {"options": options, "model": arguments.model.name, "shapes": [
            entry | {"max_rel_error": records.finite(entry["max_rel_error"])}
            for entry in entries]}, indent=1) + "\n")


def main():
    arguments = parse()
    model = onnx.load(str(arguments.model))
    names = [name for name, _ in arguments.sizes]
    unknown = set(names) - open_dimensions(model)
    if unknown:
        print(f"shapes.py: {sorted(unknown)[0]!r} is no open dimension of {arguments.model}; there "
              f"are {', '.join(sorted(open_dimensions(model))) or 'none'}", file=sys.stderr)
        return 2
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        watch = machine_watch.MachineWatch()
        try:
            shapes = shapes_of(model, arguments, folder)
            # A large model would take memory from the runtimes.
            del model
            watch.start(arguments, stack)
            measure(shapes, arguments, watch)
        except participants.ParticipantFailure as failure:
            print(f"shapes.py: {failure}", file=sys.stderr)
            return 1
    entries = [figures_of(shape) for shape in shapes]
    print("\n".join(table_of(names, shapes, entries)))
    if arguments.json:
        keep(entries, arguments)
    faults = list(faults_of(shapes, entries, arguments))
    for fault in faults:
        print(f"shapes.py: {fault}", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
