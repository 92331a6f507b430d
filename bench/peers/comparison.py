"""Runs one model through all participants in interleaved rounds."""

import dataclasses
import hashlib
import pathlib
import statistics
import tempfile
import time

import numpy as np
import onnx
from google.protobuf.message import DecodeError

import sample_inputs
from check_equal import relative_error
from participants import ChildParticipant, ParticipantFailure, PlaitParticipant

# A median of fewer runs says nothing; more than this many only cost time.
RUNS_MIN, RUNS_MAX = 3, 300

REFERENCE = "onnxruntime"


class ModelFailure(Exception):
    """A file that is no ONNX model, or one whose inputs cannot be made up."""


@dataclasses.dataclass
class Row:
    """What one participant did with one model. `failure` says why there are no numbers."""

    runtime: str
    version: str = "?"
    load_ms: float | None = None
    runs: int = RUNS_MIN
    rounds: list = dataclasses.field(default_factory=list)
    max_rel_error: float | None = None
    speedup_over_reference: float | None = None
    failure: str | None = None

    @property
    def median_us(self):
        return statistics.median(entry.median for entry in self.rounds)

    @property
    def p10_us(self):
        return statistics.median(entry.p10 for entry in self.rounds)

    @property
    def p95_us(self):
        return statistics.median(entry.p95 for entry in self.rounds)

    @property
    def spread(self):
        medians = [entry.median for entry in self.rounds]
        return (max(medians) - min(medians)) / self.median_us


@dataclasses.dataclass
class ModelResult:
    """All rows of one model; the digest says which bytes were measured."""

    name: str
    digest: str
    nodes: int
    rows: list


def compare_model(path, arguments):
    """Returns the ModelResult of one file; a participant that fails has a row that says so.

    Raises ModelFailure when the file itself is at fault.
    """
    try:
        model = onnx.load(str(path))
        feeds = sample_inputs.model_inputs(model, arguments.seed, arguments.dynamic_size)
    except (DecodeError, OSError, ValueError) as error:
        raise ModelFailure(f"{path}: {error}") from error
    nodes = len(model.graph.node)
    # Freed before anything is timed: a large model would take memory from the runtimes.
    del model
    with tempfile.TemporaryDirectory() as folder:
        inputs = pathlib.Path(folder) / "inputs.npz"
        np.savez(inputs, **feeds)
        entrants = _entrants(path, arguments)
        try:
            rows = _race(entrants, inputs, folder, arguments)
        finally:
            for participant, _ in entrants:
                participant.close()
    return ModelResult(path.stem, _digest(path), nodes, rows)


def _digest(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _counterpart(path, folder):
    """Returns the file of that name in the folder, or None."""
    found = folder / path.name if folder else None
    return found if found and found.is_file() else None


def _plait(name, arguments):
    return PlaitParticipant(name, arguments.plait, arguments.threads, arguments.timeout_s)


def _entrants(path, arguments):
    """Returns pairs of a participant and the file that it runs."""
    optimized = _counterpart(path, arguments.optimized)
    baseline = _counterpart(path, arguments.baseline)
    entrants = []
    for runtime in arguments.runtimes:
        if runtime == "plait":
            entrants.append((_plait("plait", arguments), optimized or path))
            if baseline:
                entrants.append((_plait("plait-baseline", arguments), baseline))
            continue
        child = ChildParticipant(runtime, runtime, arguments.threads, arguments.timeout_s)
        entrants.append((child, path))
    if optimized:
        child = ChildParticipant(
            f"{REFERENCE}+plait", REFERENCE, arguments.threads, arguments.timeout_s)
        entrants.append((child, optimized))
    return entrants


def _race(entrants, inputs, folder, arguments):
    """Loads all, compares their outputs, then times them in turns. Returns their rows."""
    rows = []
    outputs = {}
    for participant, model in entrants:
        row = Row(participant.name)
        rows.append(row)
        try:
            row.load_ms = participant.load(model.resolve(), inputs)
            row.version = participant.version
            first = participant.time(RUNS_MIN).median
        except ParticipantFailure as failure:
            row.failure = str(failure)
            continue
        wanted = int(arguments.round_ms * 1000 / first)
        row.runs = max(RUNS_MIN, min(RUNS_MAX, wanted))
        try:
            outputs[participant.name] = participant.outputs(folder)
        except ParticipantFailure:
            # Timing without an output check is worth showing; its error column stays empty.
            pass
    for number in range(arguments.rounds):
        _one_round(entrants, rows, number, arguments.pause_ms / 1000)
    _judge(rows, outputs)
    return rows


def _one_round(entrants, rows, number, pause_s):
    """Gives every participant one turn; who begins changes from round to round."""
    count = len(entrants)
    for place in range(count):
        index = (number + place) % count
        row = rows[index]
        if row.failure:
            continue
        time.sleep(pause_s)
        try:
            row.rounds.append(entrants[index][0].time(row.runs))
        except ParticipantFailure as failure:
            row.failure = str(failure)


def _judge(rows, outputs):
    """Fills in the columns that compare with the reference."""
    reference = next((row for row in rows if row.runtime == REFERENCE), None)
    for row in rows:
        if row.runtime in outputs and REFERENCE in outputs:
            row.max_rel_error = _worst_error(outputs[REFERENCE], outputs[row.runtime])
        if reference is None or reference.failure or row.failure:
            continue
        pairs = zip(reference.rounds, row.rounds)
        row.speedup_over_reference = statistics.median(a.median / b.median for a, b in pairs)


def _worst_error(expected, actual):
    if set(expected) - set(actual):
        return float("inf")
    return max(relative_error(expected[name], actual[name]) for name in expected)
