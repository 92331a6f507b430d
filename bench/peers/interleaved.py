"""Rounds in which each participant has one turn, in an order of the round's own."""

import dataclasses
import random

import machine
import rounds


@dataclasses.dataclass(frozen=True)
class Round:
    """What the machine did during a round."""

    load: int
    steal: float | None
    taken_again: tuple  # why turns were, whose turns do not show
    dropped: str | None


def take_round(turns, watch, pause_seconds, number, load=0):
    """Gives every participant one turn, the function of that name in `turns`; the round's number
    decides on the order: whoever comes behind one whose threads still spin loses by it, and so
    nobody always does. Returns what each turn returned, by name, and the Round."""
    steal = machine.StealClock()
    taken, reasons, dropped = {}, [], None
    for name in random.Random(number).sample(list(turns), len(turns)):
        # In a round that counts for nothing each has one turn still.
        tries = 1 if dropped else rounds.TURN_TRIES
        taken[name], disturbances = watch.take(turns[name], pause_seconds, tries)
        reasons += disturbances
        if len(disturbances) == tries:
            dropped = dropped or disturbances[-1]
    share = steal.share()
    return taken, Round(load, share, tuple(reasons), dropped or rounds.reason_to_drop(share))


def counted(values, entries):
    """Those of one value per round whose rounds count."""
    return [value for value, entry in zip(values, entries) if entry.dropped is None]


def told(entries):
    """How many rounds do not count, for people."""
    dropped = sum(entry.dropped is not None for entry in entries)
    again = sum(len(entry.taken_again) for entry in entries)
    return (f"rounds: {len(entries)}, of which {dropped} do not count; "
            f"turns taken again: {again}")
