#!/usr/bin/env python3
"""Shows what an optimized file is worth on a machine that is not the one it was made on.

moved.py MODEL.onnx OPTIMIZED.onnx runs the second in plait and the first in ONNX Runtime, in turn,
in five situations:
  as made       the machine as it is, and --threads threads
  one core      both processes may use one core only (taskset)
  quota 1.0     each is in a control group that gets the time of one core (wants the right to make
                them)
  avx2          plait may use no better instruction set; ONNX Runtime cannot be told, and uses all
  newer plan    the plan's text has a version that this plait does not know

plait is plait.InferenceSession of the wheel that is installed beside the peers, but `plait bench`
for avx2, since a session uses what the processor has. A session is told the number of threads where
the machine is whole, and finds it by itself elsewhere; ONNX Runtime is told that of the cores, and
with a quota both one and two, of which the better counts. A quota lets a process run freely until
its share of a tenth of a second is spent, so that there the mean of a turn's runs counts and not
their median.

The two take turns in an order of the round's own. A turn is taken again where the machine was
disturbed, and a round whose turn never was undisturbed does not count, as in peers.py; a situation
without any round that counts has no figures.

Columns: milliseconds of both, and the second by the first with its 95 % interval; below, what plait
says of the plan that it uses, and how many rounds count. --json keeps them, with every round.

Exit codes: 0 all were measured, 1 a situation was not (its row says why), 2 usage.
"""

import argparse
import base64
import contextlib
import dataclasses
import functools
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import zlib

import numpy as np
import onnx

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "models"))

import interleaved  # noqa: E402 (the folder of models is found through the line above)
import limits  # noqa: E402
import machine_watch  # noqa: E402
import participants  # noqa: E402
import records  # noqa: E402
import report  # noqa: E402
import sample_inputs  # noqa: E402

ROOT = HERE.parent.parent
LOADS = 3
RUNS_MIN, RUNS_MAX = 3, 300
TIMEOUT_S = 600.0
PAUSE_S = 0.1


@dataclasses.dataclass(frozen=True)
class Situation:
    """Where a file is run: words before the commands, and the threads that each side is told."""

    name: str
    before: dict  # of "plait", and by threads of the peers
    plait_threads: int
    peer_threads: tuple
    instruction_set: str | None = None
    is_newer: bool = False
    has_quota: bool = False


@contextlib.contextmanager
def situation(name, threads):
    """The one of that name, for as long as the block lasts."""
    if name == "one core":
        yield Situation(name, {"plait": limits.one_core(), 1: limits.one_core()}, 0, (1,))
    elif name == "quota 1.0":
        # Threads of one that spin after its turn must not spend another's share.
        with contextlib.ExitStack() as stack:
            before = {who: stack.enter_context(limits.quota(1.0, who)) for who in ("plait", 1, 2)}
            yield Situation(name, before, 0, (1, 2), has_quota=True)
    elif name == "avx2":
        yield Situation(name, {}, threads, (threads,), instruction_set="avx2")
    else:
        yield Situation(name, {}, threads, (threads,), is_newer=name == "newer plan")


SITUATIONS = ("as made", "one core", "quota 1.0", "avx2", "newer plan")


class Bench:
    """`plait bench` as a participant: it loads the model anew for each turn."""

    def __init__(self, arguments, here):
        self.command = [arguments.plait, "bench", "--json", "--threads", here.plait_threads,
                        "--instruction-set", here.instruction_set]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def load(self, model, inputs):
        """`plait bench` draws its own inputs."""
        del inputs
        self.model = model
        return self._run(RUNS_MIN)["plan"]["explanation"]

    def typical_us(self, runs):
        return self._run(runs)["latency_us_median"]

    def _run(self, runs):
        words = [str(word) for word in (*self.command, "--rounds", runs, self.model)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        if done.returncode != 0:
            raise participants.ParticipantFailure(done.stderr.strip().splitlines()[-1])
        return json.loads(done.stdout)["models"][0]


class Child:
    """A Python runtime in a process of its own."""

    def __init__(self, library, threads, before, has_quota=False):
        self.statistic = statistics.fmean if has_quota else statistics.median
        command = [*before, sys.executable, participants.CHILD, "--runtime", library, "--threads",
                   threads]
        self.participant = participants.Participant(library, command, TIMEOUT_S)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.participant.close()

    def load(self, model, inputs):
        return self.participant.load(model, inputs).plan

    def typical_us(self, runs):
        samples_us = self.participant.ask({"command": "time", "runs": runs}, "samples_us")
        return self.statistic(samples_us["samples_us"])


def plait_in(here, arguments):
    if here.instruction_set:
        return Bench(arguments, here)
    return Child("plait", here.plait_threads, here.before.get("plait", []), here.has_quota)


@dataclasses.dataclass
class Race:
    """What plait said of its plan, and what a run took in the turns of each round, in microseconds:
    plait's, and each peer's by its threads."""

    told: str | None = None
    turns: list = dataclasses.field(default_factory=list)
    rounds: list = dataclasses.field(default_factory=list)

    def counted(self, name):
        """One participant's turns of the rounds that count."""
        return interleaved.counted([turn[name] for turn in self.turns], self.rounds)


def race(here, optimized, inputs, arguments):
    """Runs the rounds of one situation."""
    done, runs = Race(), {}
    watch = machine_watch.MachineWatch()
    for load in range(LOADS):
        with contextlib.ExitStack() as stack:
            watch.start(arguments, stack)
            entrants = {"plait": stack.enter_context(plait_in(here, arguments))}
            done.told = entrants["plait"].load(optimized, inputs)
            for threads in here.peer_threads:
                peer = stack.enter_context(Child(
                    "onnxruntime", threads, here.before.get(threads, []), here.has_quota))
                peer.load(arguments.model.resolve(), inputs)
                entrants[threads] = peer
            for name, entrant in entrants.items():
                runs[name] = runs.get(name) or runs_of(entrant, arguments)
            turns = {name: functools.partial(entrant.typical_us, runs[name])
                     for name, entrant in entrants.items()}
            for _ in range(-(-arguments.rounds // LOADS)):
                taken, entry = interleaved.take_round(turns, watch, PAUSE_S, len(done.rounds), load)
                done.turns.append(taken)
                done.rounds.append(entry)
    return done


def runs_of(entrant, arguments):
    """How many runs fill a turn."""
    typical_us = entrant.typical_us(RUNS_MIN)
    return max(RUNS_MIN, min(RUNS_MAX, int(arguments.round_ms * 1000 / typical_us)))


def with_newer_plan(optimized, folder):
    """A copy of the file whose plan has the next version of the text."""
    model = onnx.load(str(optimized))
    (plan,) = (entry for entry in model.metadata_props if entry.key == "plait.plan")
    text = zlib.decompress(base64.b64decode(plan.value.removeprefix("zlib:"))).decode()
    text = re.sub(r"^plan (\d+)", lambda found: f"plan {int(found[1]) + 1}", text)
    plan.value = "zlib:" + base64.b64encode(zlib.compress(text.encode())).decode()
    target = pathlib.Path(folder) / optimized.name
    onnx.save(model, str(target))
    return target


def save_inputs(feeds, folder):
    """Writes arrays where runtime_child.py looks for them."""
    for name, array in feeds.items():
        np.save(pathlib.Path(folder, name.replace("/", "_").replace(":", "_") + ".npy"), array)


def measure(name, inputs, arguments, folder):
    """The figures of one situation; "failure" says why there are none."""
    with situation(name, arguments.threads) as here:
        optimized = arguments.optimized.resolve()
        if here.is_newer:
            optimized = with_newer_plan(optimized, folder)
        done = race(here, optimized, inputs, arguments)
    return figures_of(name, here.peer_threads, done)


def figures_of(name, peer_threads, done):
    """What follows from the rounds that count, and all of them."""
    kept = {"rounds": [dataclasses.asdict(entry) for entry in done.rounds],
            "turns_us": [{str(who): us for who, us in turn.items()} for turn in done.turns]}
    entry = {"situation": name, "plan": done.told, "rounds_told": interleaved.told(done.rounds)}
    own = done.counted("plait")
    if not own:
        return entry | {"failure": f"nothing follows: {entry['rounds_told']}"} | kept
    peers = {threads: done.counted(threads) for threads in peer_threads}
    threads = min(peers, key=lambda count: statistics.median(peers[count]))
    return entry | {
        "latency_us_median": statistics.median(own),
        "peer_us_median": statistics.median(peers[threads]), "peer_threads": threads,
        "ratio": report.ratio_figures([peer / us for peer, us in zip(peers[threads], own)])} | kept


def line_of(entry):
    if "failure" in entry:
        return f"{entry['situation']:<12} {entry['failure']}"
    peer = f"{entry['peer_us_median'] / 1000:.3f} ({entry['peer_threads']})"
    return (f"{entry['situation']:<12} {entry['latency_us_median'] / 1000:>9.3f} {peer:>16}  "
            f"{report.interval(entry['ratio'])}\n  {entry['plan']}\n  {entry['rounds_told']}")


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=pathlib.Path, metavar="MODEL.onnx")
    parser.add_argument("optimized", type=pathlib.Path, metavar="OPTIMIZED.onnx")
    parser.add_argument("--situations", default=",".join(SITUATIONS),
                        help="which of them (all, separated by commas)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=15, help="turns of each (15)")
    parser.add_argument("--round-ms", type=float, default=300.0, help="length of a turn (300)")
    parser.add_argument("--plait", type=pathlib.Path, default=ROOT / "build" / "plait",
                        metavar="PROGRAM", help="the plait program (build/plait)")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="also write the figures")
    arguments = parser.parse_args()
    unknown = set(arguments.situations.split(",")) - set(SITUATIONS)
    if unknown:
        parser.error(f"unknown situation {sorted(unknown)[0]!r}; there are {', '.join(SITUATIONS)}")
    for path in (arguments.model, arguments.optimized):
        if not path.is_file():
            parser.error(f"no such file: {path}")
    return arguments


def main():
    arguments = parse()
    print(f"{'situation':<12} {'plait ms':>9} {'ONNX Runtime ms':>16}  ratio")
    entries = []
    with tempfile.TemporaryDirectory() as folder:
        inputs = pathlib.Path(folder) / "inputs"
        inputs.mkdir()
        save_inputs(sample_inputs.model_inputs(onnx.load(str(arguments.model)), seed=1), inputs)
        for name in arguments.situations.split(","):
            try:
                entry = measure(name, inputs, arguments, folder)
            except (participants.ParticipantFailure, limits.LimitFailure) as failure:
                entry = {"situation": name, "failure": str(failure)}
            print(line_of(entry), flush=True)
            entries.append(entry)
    if arguments.json:
        head = records.head(arguments.plait, ("plait", "onnxruntime"),
                            {"model": arguments.model, "optimized": arguments.optimized})
        options = {option: getattr(arguments, option)
                   for option in ("threads", "rounds", "round_ms")}
        arguments.json.write_text(json.dumps(
            head | {"options": options, "model": arguments.model.name, "situations": entries},
            indent=1) + "\n")
    return 1 if any("failure" in entry for entry in entries) else 0


if __name__ == "__main__":
    sys.exit(main())
