"""The program that `plait gate` starts: two models in a runtime, loaded and run in turn."""

import os
import subprocess
import sys

import numpy as np
import pytest
import runtime_models as models
from plait_runtime_worker import frames, pairs, session

FLOAT = 1
COMPLEX = 14


class Pairs:
    """The program, as plait sees it, whose temporary files are in `folder`. Use as a context
    manager."""

    def __init__(self, runtime, folder="/tmp"):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "plait_runtime_worker.pairs", "--runtime", runtime,
             "--threads", "2", "--memory-bytes", str(8 << 30)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0,
            env={"PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(folder)})
        self.reader = frames.Reader(self.process.stdout)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()

    def read(self):
        return self.reader.read()[0]

    def ask(self, fields, runs=()):
        frames.write(self.process.stdin, fields, runs)
        return self.read()

    def give(self, base, new, data_type=FLOAT):
        values = np.ones((4, models.WIDTH), np.float32)
        described = [["input", data_type, list(values.shape)]]
        return self.ask({"inputs": [described, described]}, [values, base, values, new])


def test_each_load_times_both(runtime):
    with Pairs(runtime) as program:
        greeting = program.read()
        assert greeting["device"]["id"] == runtime
        assert greeting["device"]["runtime_version"] in greeting["device"]["name"]
        assert "=2" in greeting["options"]  # the threads
        assert program.give(models.product(), models.repeated_relu()) == {"bytes": []}
        for new_first in (False, True):
            answer = program.ask({"new_first": new_first})
            rounds = len(answer["base_us"])
            assert rounds == len(answer["new_us"]) and rounds in (2, 4, 6, 8)
            assert all(time > 0 for time in answer["base_us"] + answer["new_us"])


def test_it_ends_with_stdin_and_leaves_nothing(runtime, tmp_path):
    with Pairs(runtime, tmp_path) as program:
        program.read()
        program.give(models.product(), models.product())
        before = set(tmp_path.iterdir())
        program.ask({"new_first": False})
        assert set(tmp_path.iterdir()) <= before
        program.process.stdin.close()
        assert program.process.wait(10) == 0
        assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("wrong", [0, 1])
def test_what_the_runtime_refuses_is_said_of_the_model(runtime, wrong):
    given = [models.product(), models.product()]
    given[wrong] = b"no model"
    with Pairs(runtime) as program:
        program.read()
        program.give(*given)
        answer = program.ask({"new_first": False})
        assert answer["model"] == wrong and answer["error"]


def test_a_type_without_values_is_said_of_the_model(runtime):
    with Pairs(runtime) as program:
        program.read()
        answer = program.give(models.product(), models.product(), COMPLEX)
        assert answer["model"] == 0 and "type 14" in answer["error"]


class FakeSession:
    """A runtime whose model is the microseconds that a run takes."""

    turns = []
    alive = 0

    def __init__(self, settings, ends_at):
        FakeSession.alive += 1

    def __enter__(self):
        return self

    def __exit__(self, *_):
        FakeSession.alive -= 1

    def give(self, model, sets):
        self.run_us = model

    def load(self):
        FakeSession.turns.append(("load", self.run_us))

    def time(self, settle_us, timed):
        FakeSession.turns.append((settle_us, timed, self.run_us))
        if self.run_us < 0:
            raise session.Failed("crashed")
        return [self.run_us] * timed


@pytest.fixture
def fake_session(monkeypatch):
    FakeSession.turns, FakeSession.alive = [], 0
    monkeypatch.setattr(session, "Session", FakeSession)


@pytest.mark.parametrize("new_first", [False, True])
def test_both_take_the_same_turns_by_the_base(fake_session, new_first):
    pair = pairs.Pair(None, [(300_000.0, []), (100.0, [])])
    base_us, new_us = pair.measure(new_first)
    assert set(base_us) == {300_000.0} and set(new_us) == {100.0}
    loads = [turn[1] for turn in FakeSession.turns if turn[0] == "load"]
    assert loads == ([100.0, 300_000.0] if new_first else [300_000.0, 100.0])
    rounds = [turn for turn in FakeSession.turns if turn[0] != "load"][1:]
    assert {turn[:2] for turn in rounds} == {(0, 1)}  # as a run of 300 ms is timed, for both
    firsts = [turn[2] for turn in rounds[::2]]
    assert firsts.count(100.0) == firsts.count(300_000.0)
    assert FakeSession.alive == 0


def test_no_process_outlives_a_failure(fake_session):
    with pytest.raises(pairs.Refused, match="crashed") as raised:
        pairs.Pair(None, [(100.0, []), (-1.0, [])]).measure(False)
    assert raised.value.model == 1 and FakeSession.alive == 0
