"""One MeasureModelsTask: who is loaded, who takes which turn, and what is said of each."""

from __future__ import annotations

import dataclasses
import math
import statistics
import time

from plait_runtime_worker import compare, session

# See MeasureModelsTask.
LOADS_LEAST = 2
MODELS_MAX = 8
# See optimizer/cost: a short run is timed several times.
SHORT_RUN_US = 20_000
TIMED_RUNS = 3
# A run is timed when the caches hold what its model reads, and each thread has a core. Those of a
# process that was not the last to run may begin on one core, two of them, until the system moves
# one: ONNX Runtime then takes twice as long, on Linux 6.18 for up to 50 ms.
SETTLE_US = 60_000
# Of which that is too small a part to be worth another run.
LONG_RUN_US = 250_000


class Aborted(Exception):
    """The server does not want the task any more."""


@dataclasses.dataclass(frozen=True)
class Settings:
    """How the processes of sessions are started."""

    runtime: str
    threads: int
    precision: str
    memory_bytes: int
    cpu_seconds: int
    paths: list  # where the interpreter shall find packages, besides its own places


@dataclasses.dataclass
class Model:
    """What is known of one model so far."""

    process: session.Session | None = None
    error: str = ""
    latency_us: list = dataclasses.field(default_factory=list)
    load_ms: list = dataclasses.field(default_factory=list)
    comparison: compare.Comparison | None = None

    @property
    def runs(self):
        return not self.error


@dataclasses.dataclass(frozen=True)
class Rounds:
    """How often, as a MeasureModelsTask says it."""

    loads: int
    rounds: int
    rounds_min: int
    seconds_max: float


def turn_of(run_us):
    """(microseconds of untimed runs, timed runs) of one turn, for runs of so many microseconds."""
    if run_us >= LONG_RUN_US:
        return 0, 1
    return SETTLE_US, TIMED_RUNS if run_us < SHORT_RUN_US else 1


class Measurement:
    """Of some models in one runtime. `should_stop` is asked between steps."""

    def __init__(self, settings, rounds, ends_at, should_stop):
        self.settings = settings
        self.rounds = rounds
        self.ends_at = ends_at
        self.should_stop = should_stop
        self.models = []
        self.load_rounds = []

    def run(self, models, sets):
        """Measures models, given as bytes, on sets of (name, dtype, dims, bytes). Returns a list of
        Model. Raises session.Overdue or Aborted."""
        began = time.monotonic()
        self.models = [Model() for _ in models]
        try:
            for model, data in zip(self.models, models):
                self._guarded(model, lambda one: self._start(one, data, sets))
                if not self.models[0].runs:
                    return self.models
            self._compare(len(sets))
            if self.models[0].runs:
                self._take_rounds(began)
        finally:
            for model in self.models:
                if model.process:
                    model.process.close()
        return self.models

    def _guarded(self, model, step):
        """A model that fails has an error, and takes no turn any more."""
        if self.should_stop():
            raise Aborted()
        try:
            return step(model)
        except session.Failed as error:
            model.error = str(error)
            model.latency_us, model.load_ms = [], []
            return None

    def _start(self, model, data, sets):
        model.process = session.Session(self.settings, self.ends_at)
        model.process.give(data, sets)
        model.load_ms.append(model.process.load())

    def _compare(self, sets):
        for model in self.models:
            model.comparison = compare.Comparison()
        for index in range(sets):
            expected = self._guarded(self.models[0], lambda one: one.process.outputs(index))
            if expected is None:
                return
            for model in filter(lambda one: one.runs, self.models):
                got = self._guarded(model, lambda one: one.process.outputs(index))
                if got is not None:
                    model.comparison.add(expected, got)

    def _take_rounds(self, began):
        loads, rounds = self.rounds.loads, self.rounds.rounds
        for load in range(max(1, loads)):
            if load > 0:
                for model in filter(lambda one: one.runs, self.models):
                    load_ms = self._guarded(model, lambda one: one.process.load())
                    if load_ms is not None:
                        model.load_ms.append(load_ms)
            self.load_rounds.append(0)
            if load == 0:
                round_began = time.monotonic()
                first_turn = self._take_round(0)
                taken = time.monotonic() - round_began
                loads, rounds = self._plan(round_began - began, taken + self._more_of(first_turn))
            while self.load_rounds[load] < rounds and self.models[0].runs:
                self._take_round(sum(self.load_rounds))
            if load + 1 >= loads or not self.models[0].runs:
                return

    def _turn(self):
        """turn_of each model in the next round: by the original for all, so that what is compared
        is taken alike."""
        original = self.models[0]
        return turn_of(original.latency_us[-1] if original.latency_us
                       else original.load_ms[-1] * 1000)

    def _more_of(self, turn):
        """Seconds that a round takes beyond one of this turn. The first one knows of no times but
        the loads', which are longer than a run."""
        if not self.models[0].runs:
            return 0
        settle_us, timed = (more - taken for more, taken in zip(self._turn(), turn))
        return sum(settle_us + timed * model.latency_us[-1]
                   for model in self.models if model.runs) / 1e6

    def _plan(self, load_seconds, round_seconds):
        """Loads, and rounds of each, that fit; see MeasureModelsTask."""
        asked = self.rounds
        left = asked.seconds_max - load_seconds
        loads = max(1, asked.loads)
        least = max(1, math.ceil(asked.rounds_min / loads))
        while loads > LOADS_LEAST:
            if (loads - 1) * load_seconds + loads * least * round_seconds <= left:
                break
            loads -= 1
            least = max(1, math.ceil(asked.rounds_min / loads))
        fitting = (left - (loads - 1) * load_seconds) / (loads * max(round_seconds, 1e-6))
        return loads, max(least, min(asked.rounds, math.floor(fitting)))

    def _take_round(self, number):
        """A turn of each, in an order that changes; returns turn_of it."""
        running = [model for model in self.models if model.runs]
        shift = number % len(running)
        taken = {}
        turn = self._turn()
        for model in running[shift:] + running[:shift]:
            samples = self._guarded(model, lambda one: one.process.time(*turn))
            if samples is not None:
                taken[id(model)] = statistics.median(samples)
        if self.models[0].runs:
            for model in running:
                if model.runs:
                    model.latency_us.append(taken[id(model)])
            self.load_rounds[-1] += 1
        return turn
