"""Turns that take part in rounds: their order, and what becomes of those that were disturbed."""

import pytest
from test_peers import watch_that_reads

import callers  # found through test_peers
import interleaved
import moved

QUIET, DISTURBED = interleaved.Round(0, 0.0, (), None), interleaved.Round(0, 0.0, (), "far")


def round_of(monkeypatch, number, *are_far):
    """The names of those who had turns in a round, in their order, and the Round."""
    watch = watch_that_reads(monkeypatch, *are_far)
    order = []
    _, entry = interleaved.take_round(
        {name: lambda name=name: order.append(name) for name in "abc"}, watch, 0, number)
    assert not watch.yardstick.are_far
    return "".join(order), entry


def test_the_order_of_a_round_is_its_own_and_the_same_again(monkeypatch):
    orders = [round_of(monkeypatch, number, *[False] * 6)[0] for number in range(20)]
    assert all(sorted(order) == ["a", "b", "c"] for order in orders) and len(set(orders)) == 6
    assert orders[7] == round_of(monkeypatch, 7, *[False] * 6)[0]


def test_a_round_with_a_turn_that_was_always_disturbed_does_not_count(monkeypatch):
    # The second turn is disturbed before each of six tries, so that it is taken at the last one;
    # the third has one try.
    order, entry = round_of(monkeypatch, 0, False, False, *[True] * 6, True)
    assert len(order) == 3 and len(entry.taken_again) == 7
    assert entry.dropped == "the host parted the processors"
    order, entry = round_of(monkeypatch, 0, False, False, *[True] * 5, *[False] * 4)
    assert len(order) == 3 and len(entry.taken_again) == 5 and entry.dropped is None


def moved_figures(*rounds):
    turns = [{"plait": 100.0, 1: 300.0, 2: 200.0}, {"plait": 1.0, 1: 1.0, 2: 1.0},
             {"plait": 110.0, 1: 310.0, 2: 220.0}]
    return moved.figures_of("quota 1.0", (1, 2), moved.Race("a plan", turns, list(rounds)))


def test_what_is_measured_elsewhere_is_that_of_the_rounds_that_count():
    figures = moved_figures(QUIET, DISTURBED, QUIET)
    assert figures["latency_us_median"] == 105 and figures["peer_threads"] == 2
    assert figures["ratio"] == {"median": 2, "low": 2, "high": 2}
    assert "rounds: 3, of which 1 do not count" in moved.line_of(figures)
    assert len(figures["turns_us"]) == len(figures["rounds"]) == 3, "all are kept"


def test_a_situation_without_a_quiet_round_has_no_figures():
    figures = moved_figures(DISTURBED, DISTURBED, DISTURBED)
    assert not {"latency_us_median", "ratio"} & set(figures)
    assert "nothing follows: rounds: 3, of which 3 do not count" in moved.line_of(figures)


def test_callers_are_compared_in_rounds_that_count(tmp_path):
    (tmp_path / "a.onnx").write_text("a model")
    # In the order in which they had their turns.
    turn = {name: (100.0, 20.0 if name == "session" else None)
            for name in reversed(callers.CALLERS)}
    slower = {name: (1000.0, 900.0) for name in callers.CALLERS}
    figures = callers.figures_of(tmp_path / "a.onnx", [turn, slower], [QUIET, DISTURBED])
    session = figures["callers"]["session"]
    assert session["latency_us_median"] == 100 and session["load_ms"] == 20
    assert session["ratio"]["median"] == pytest.approx(1)
    assert figures["callers"]["c"]["load_ms"] is None
    assert figures["callers"]["c"]["installed_bytes"] is None
    assert figures["callers"]["onnxruntime"]["installed_bytes"] > 2 ** 23
    assert list(figures["callers"]) == list(callers.CALLERS)
    *rows, last = callers.table_of(figures)
    assert len(rows) == 1 + len(callers.CALLERS) and "of which 1 do not count" in last
    nothing = callers.figures_of(tmp_path / "a.onnx", [slower], [DISTURBED])
    assert nothing["callers"] == {}
    assert list(callers.table_of(nothing))[1:] == [
        "  nothing follows: rounds: 1, of which 1 do not count; turns taken again: 0"]
