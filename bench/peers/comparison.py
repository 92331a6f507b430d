"""Runs one model through all participants in interleaved rounds."""

import contextlib
import dataclasses
import functools
import os
import pathlib
import statistics
import sys
import tempfile
import time

import numpy as np
import onnx
from google.protobuf.message import DecodeError

import interleaved
import machine_watch
import participants
import records
import rounds
import sample_inputs
import spinner
from check_equal import relative_error
from participants import ParticipantFailure

# A median of fewer runs says nothing; more than this many only cost time.
RUNS_MIN, RUNS_MAX = 3, 300
# What a load is lucky or unlucky with, its pages above all, lasts as long as it does. An even
# number, since in every other one what is loaded first otherwise is loaded last.
LOADS = 4
# How often it is told where a model is, of which turns may be put off for long.
TOLD_EVERY_SECONDS = 60

REFERENCE = "onnxruntime"
PEERS = ("onnxruntime", "openvino")
SESSION = "plait-session"


class ModelFailure(Exception):
    """A file that is no ONNX model, or one whose inputs cannot be made up."""


@dataclasses.dataclass
class Row:
    """What one participant did with one model. `failure` says why there are no numbers."""

    runtime: str
    model: pathlib.Path
    version: str = "?"
    flops: int | None = None
    load_ms: list = dataclasses.field(default_factory=list)
    peak_memory_bytes: list = dataclasses.field(default_factory=list)
    runs: int = 0
    turns: list = dataclasses.field(default_factory=list)  # of all rounds; None: it had failed
    max_rel_error: float | None = None
    failure: str | None = None

    def kept(self, kept_rounds):
        return [self.turns[number] for number in kept_rounds]


@dataclasses.dataclass
class ModelResult:
    """All rows of one model; the digests say which bytes were measured."""

    name: str
    digest: str
    nodes: int
    rows: list
    rounds: list

    def row(self, runtime):
        """The row of a participant that has numbers, or None."""
        return next((row for row in self.rows if row.runtime == runtime and not row.failure), None)

    @property
    def counted(self):
        """How many rounds count."""
        return sum(entry.dropped is None for entry in self.rounds)

    @property
    def kept_rounds(self):
        """The numbers of the rounds that count; all of them if none does."""
        kept = [number for number, entry in enumerate(self.rounds) if entry.dropped is None]
        return kept or list(range(len(self.rounds)))

    def median_us(self, row):
        return statistics.median(turn.median for turn in row.kept(self.kept_rounds))

    def better_peer(self):
        """The peer with the lower median, or None."""
        rows = [row for row in map(self.row, PEERS) if row is not None]
        return min(rows, key=self.median_us, default=None)

    def ratios(self, slower, faster):
        """The time of one row over that of another, per round that counts."""
        pairs = zip(slower.kept(self.kept_rounds), faster.kept(self.kept_rounds))
        return [first.median / second.median for first, second in pairs]

    def peer_ratios(self):
        """The better peer's time over plait's per round; None where there is nothing to say."""
        peer, plait = self.better_peer(), self.row("plait")
        return self.ratios(peer, plait) if peer and plait and self.counted else None

    def session_ratios(self):
        """The better peer's time over that of plait's session in Python."""
        peer, session = self.better_peer(), self.row(SESSION)
        return self.ratios(peer, session) if peer and session and self.counted else None

    def returned_ratios(self):
        """For each peer its time of the original over that of the file that plait has returned."""
        pairs = {peer: (self.row(peer), self.row(returned_in(peer))) for peer in PEERS}
        return {peer: self.ratios(*rows) for peer, rows in pairs.items()
                if all(rows) and self.counted}

    def noise_floor(self):
        """plait's time over that of plait, loaded beside it from the same file."""
        first, second = self.row("plait"), self.row("plait-again")
        return self.ratios(second, first) if first and second and self.counted else None


def programs(arguments):
    """What takes part: plait by the bytes of its program, a library by its version; None where it
    is missing."""
    return {runtime: _plait_digest(arguments) if runtime == "plait"
            else records.library_version("plait" if runtime == SESSION else runtime)
            for runtime in arguments.runtimes}


def _plait_digest(arguments):
    program = participants.plait_program(arguments)
    return records.digest(program) if program.is_file() else None


def rows_for(path, arguments):
    """The participants of a model, each with the file that it runs."""
    optimized = _counterpart(path, arguments.optimized)
    baseline = _counterpart(path, arguments.baseline)
    rows = []
    for runtime in arguments.runtimes:
        is_plait = runtime.startswith("plait")
        rows.append(Row(runtime, (optimized or path) if is_plait else path))
        if runtime == "plait":
            rows.append(Row("plait-again", optimized or path))
            if baseline:
                rows.append(Row("plait-baseline", baseline))
    if optimized:
        rows += [Row(returned_in(peer), optimized) for peer in PEERS if peer in arguments.runtimes]
    return rows


def returned_in(peer):
    """The name of the row in which a peer runs the file that plait has returned."""
    return f"{peer}+plait"


def _counterpart(path, folder):
    """Returns the file of that name in the folder, or None."""
    found = folder / path.name if folder else None
    return found if found and found.is_file() else None


def compare_model(path, arguments):
    """Returns the ModelResult of one file; a participant that fails has a row that says so.

    Raises ModelFailure when the file itself is at fault.
    """
    try:
        model = onnx.load(str(path))
        feeds = sample_inputs.model_inputs(model, arguments.seed, arguments.dynamic_size)
    except (DecodeError, OSError, ValueError) as error:
        raise ModelFailure(f"{path}: {error}") from error
    result = ModelResult(path.stem, records.digest(path), len(model.graph.node),
                         rows_for(path, arguments), [])
    # Freed before anything is timed: a large model would take memory from the runtimes.
    del model
    with tempfile.TemporaryDirectory() as folder:
        inputs = pathlib.Path(folder) / "inputs"
        inputs.mkdir()
        for name, array in feeds.items():
            if np.issubdtype(array.dtype, np.floating):
                array = array * array.dtype.type(arguments.input_scale)
            np.save(inputs / (name.replace("/", "_").replace(":", "_") + ".npy"), array)
        with contextlib.ExitStack() as stack:
            if arguments.beside_spinner:
                stack.enter_context(spinner.spinning(max(os.sched_getaffinity(0))))
            Race(result, inputs, arguments).run()
    return result


class Race:
    """The rounds of one model."""

    def __init__(self, result, inputs, arguments):
        self.result = result
        self.inputs = inputs
        self.arguments = arguments
        self.machine_watch = machine_watch.MachineWatch()
        self.began = self.told_at = time.monotonic()

    def run(self):
        """Fills in the rows and rounds of the result."""
        # As many of each load, and of the further loads that a wide interval asks for.
        per_load = -(-self.arguments.rounds // LOADS)
        load = 0
        while not self.is_enough():
            self._run_load(load, per_load)
            load += 1

    def is_enough(self):
        """Whether the rounds so far settle every ratio, or there may be no more of them."""
        done = len(self.result.rounds)
        if done and all(row.failure for row in self.result.rows):
            return True
        if done >= max(self.arguments.rounds, self.arguments.rounds_max) or self._is_late():
            return True
        if self.result.counted < self.arguments.rounds:
            return False
        ratios = self.result.peer_ratios()
        returned = self.result.returned_ratios().values()
        return (ratios is None or rounds.is_narrow(ratios)) and all(
            rounds.is_narrow(pairs, rounds.RETURNED_HALF_WIDTH_WANTED) for pairs in returned)

    def _is_late(self):
        """Whether the model has had its time, and there are as many rounds as an interval needs."""
        seconds_max = self.arguments.model_seconds_max
        return (seconds_max is not None and time.monotonic() - self.began > seconds_max
                and self.result.counted >= rounds.INTERVAL_ROUNDS_LEAST)

    def _run_load(self, load, count):
        with contextlib.ExitStack() as stack:
            entrants = self._enter_all(load, stack)
            if load == 0:
                self._compare_outputs(entrants)
            # Beside a spinner it would only tell how the two shared a core.
            if not self.arguments.beside_spinner:
                self.machine_watch.start(self.arguments, stack)
            for _ in range(count):
                if self._is_late():
                    break
                self._run_round(entrants, load)
            for row, entrant in zip(self.result.rows, entrants):
                if entrant and not row.failure:
                    row.peak_memory_bytes.append(entrant.peak_memory_bytes())

    def _enter_all(self, load, stack):
        """What has entered for each row. The first must not always be the same: the original was,
        and took longer than the same bytes beside it."""
        rows = self.result.rows
        entered = {row.runtime: self._enter(row, stack)
                   for row in (reversed(rows) if load % 2 else rows)}
        return [entered[row.runtime] for row in rows]

    def _enter(self, row, stack):
        """Starts a participant and loads its model; None when it fails."""
        if row.failure:
            return None
        try:
            if row.runtime.startswith("plait"):
                participants.check_plan(row.model, self.arguments)
            entrant = stack.enter_context(self._start(row.runtime))
            loaded = entrant.load(row.model.resolve(), self.inputs)
            row.version, row.flops = loaded.version, loaded.flops
            row.load_ms.append(loaded.load_ms)
            if not row.runs:
                wanted = int(self.arguments.round_ms * 1000 / entrant.time(RUNS_MIN).median)
                row.runs = max(RUNS_MIN, min(RUNS_MAX, wanted))
            return entrant
        except ParticipantFailure as failure:
            row.failure = str(failure)
            return None

    def _start(self, name):
        if name == SESSION:
            return participants.runtime(name, "plait", self.arguments)
        if name.startswith("plait"):
            return participants.plait(name, self.arguments)
        return participants.runtime(name, name.partition("+")[0], self.arguments)

    def _compare_outputs(self, entrants):
        """With the reference's. Timing without it is worth showing; its column stays empty."""
        outputs = {}
        for row, entrant in zip(self.result.rows, entrants):
            folder = self.inputs.parent / f"outputs of {row.runtime}"
            folder.mkdir()
            with contextlib.suppress(ParticipantFailure):
                if entrant:
                    outputs[row.runtime] = entrant.outputs(folder)
        for row in self.result.rows:
            if row.runtime in outputs and REFERENCE in outputs:
                row.max_rel_error = _worst_error(outputs[REFERENCE], outputs[row.runtime])

    def _run_round(self, entrants, load):
        rows = self.result.rows
        able = {row.runtime: functools.partial(self._turn, row, entrant)
                for row, entrant in zip(rows, entrants) if entrant and not row.failure}
        taken, entry = interleaved.take_round(
            able, self.machine_watch, self.arguments.pause_ms / 1000, len(self.result.rounds), load)
        for row in rows:
            row.turns.append(taken.get(row.runtime))
        self.result.rounds.append(entry)
        if time.monotonic() - self.told_at >= TOLD_EVERY_SECONDS:
            print(f"{self.result.name}: {interleaved.told(self.result.rounds)}", file=sys.stderr,
                  flush=True)
            self.told_at = time.monotonic()

    @staticmethod
    def _turn(row, entrant):
        """A turn; None when it fails."""
        if row.failure:
            return None
        try:
            return entrant.time(row.runs)
        except ParticipantFailure as failure:
            row.failure = str(failure)
            return None


def _worst_error(expected, actual):
    if set(expected) - set(actual):
        return float("inf")
    return max((relative_error(expected[name], actual[name]) for name in expected), default=0.0)
