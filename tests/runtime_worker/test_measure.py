"""Turns and rounds, by a clock that only moves while a model runs or is loaded."""

import math
import types

import pytest
from plait_runtime_worker import measure

SETTINGS = measure.Settings(runtime="fake", threads=1, precision="strict", memory_bytes=0,
                            cpu_seconds=0, paths=[])


class FakeSession:
    """A runtime whose model is a number: the milliseconds that a run takes."""

    clock = 0.0
    turns = []  # (model, settle_us, timed)

    def __init__(self, settings, ends_at):
        self.run_ms = 0

    def give(self, model, sets):
        self.run_ms = model

    def load(self):
        self._pass_ms(30 + self.run_ms)
        return 30 + self.run_ms

    def time(self, settle_us, timed):
        FakeSession.turns.append((self.run_ms, settle_us, timed))
        untimed = math.ceil(settle_us / 1000 / self.run_ms)
        self._pass_ms((untimed + timed) * self.run_ms)
        return [self.run_ms * 1000.0] * timed

    def close(self):
        pass

    @staticmethod
    def _pass_ms(ms):
        FakeSession.clock += ms / 1000


@pytest.fixture(autouse=True)
def fake_runtime(monkeypatch):
    FakeSession.clock, FakeSession.turns = 0.0, []
    monkeypatch.setattr(measure.session, "Session", FakeSession)
    monkeypatch.setattr(measure, "time", types.SimpleNamespace(monotonic=lambda: FakeSession.clock))


def measured(models, loads=3, rounds=15, rounds_min=9, seconds_max=60):
    measurement = measure.Measurement(
        SETTINGS, measure.Rounds(loads, rounds, rounds_min, seconds_max), 1e9, lambda: False)
    return measurement, measurement.run(models, sets=[])


@pytest.mark.parametrize("original_ms", [0.5, 19, 25, 300])
def test_models_take_equal_turns_in_an_order_that_changes(original_ms):
    models = [original_ms, 21, 3]
    measurement, results = measured(models)
    assert sum(measurement.load_rounds) == 45
    assert all(len(result.latency_us) == 45 for result in results)
    rounds = [FakeSession.turns[i:i + 3] for i in range(0, len(FakeSession.turns), 3)]
    for turns in rounds:
        assert len({turn[1:] for turn in turns}) == 1
        assert sorted(turn[0] for turn in turns) == sorted(models)
    firsts = [turns[0][0] for turns in rounds]
    assert [firsts.count(model) for model in models] == [15, 15, 15]
    # From the second round on, the original's own time decides, and not that of its load.
    assert rounds[-1][0][1:] == {0.5: (60_000, 3), 19: (60_000, 3), 25: (60_000, 1),
                              300: (0, 1)}[original_ms]


@pytest.mark.parametrize("models", [[19, 19], [5, 6, 7], [19, 2], [25, 25], [0.4, 0.4]])
def test_rounds_end_in_time(models):
    measurement, results = measured(models, rounds=1000, seconds_max=4)
    assert 3.2 < FakeSession.clock < 4.4
    assert all(len(result.latency_us) == sum(measurement.load_rounds) for result in results)


def test_what_there_is_no_time_for_is_taken_all_the_same():
    measurement, _ = measured([400, 400], seconds_max=1)
    assert measurement.load_rounds == [5, 5]
