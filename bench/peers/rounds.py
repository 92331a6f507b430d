"""The rules of a comparison: which rounds count, and when there are enough of them. Pure."""

import dataclasses
import math
import statistics

# Fixed before anything is measured, so that nothing is dropped for what it shows.
STEAL_MAX = 0.01
# The least of what is usual that a yardstick may read right before and right behind a turn: where
# two threads are made to share a core, they multiply half as fast, and a neighbour that takes the
# memory leaves less than this of it. Undisturbed readings are within some 5 and 20 %.
MULTIPLY_ADD_MIN = 0.9
READ_MIN = 0.75
# How often a turn is taken before its round counts for nothing.
TURN_TRIES = 6
# How long a turn is put off at most while the machine is disturbed.
QUIET_WAIT_SECONDS = 4
# Rounds are added until the 95 % interval of the ratio is no wider than this to either side.
HALF_WIDTH_WANTED = 0.03
# The same of the original's time over that of the returned file, of which it is to be shown that
# they are the same. Only the width ends a measurement, never the side on which the ratio lies: who
# stops as soon as a result suits finds one in noise.
RETURNED_HALF_WIDTH_WANTED = 0.02
# As few make a 95 % interval: all of them lie on one side of the median in 3 % of cases.
INTERVAL_ROUNDS_LEAST = 6


def limits():
    """These, as a record has them."""
    return {"steal_max": STEAL_MAX, "multiply_add_min": MULTIPLY_ADD_MIN, "read_min": READ_MIN,
            "turn_tries": TURN_TRIES, "half_width_wanted": HALF_WIDTH_WANTED,
            "returned_half_width_wanted": RETURNED_HALF_WIDTH_WANTED}


@dataclasses.dataclass(frozen=True)
class Reading:
    """What the yardsticks of the machine say at one moment; None: not known."""

    multiply_add_gflops: float | None = None
    read_gbps: float | None = None
    are_threads_far: bool | None = None


def usual(readings):
    """The upper quartile of either rate: the machine may be disturbed for half of the time.
    Threads that are far in three of four readings are so by nature."""
    def quartile(rates):
        known = sorted(rate for rate in rates if rate)
        return known[(3 * len(known)) // 4] if known else None
    far = sum(bool(reading.are_threads_far) for reading in readings)
    return Reading(quartile(reading.multiply_add_gflops for reading in readings),
                   quartile(reading.read_gbps for reading in readings),
                   4 * far >= 3 * len(readings))


def disturbance(reading, of_machine):
    """Why a turn beside such a reading does not count, or None; `of_machine` is what is usual."""
    if reading.are_threads_far and not of_machine.are_threads_far:
        return "the host parted the processors"
    for what, least in (("multiply_add_gflops", MULTIPLY_ADD_MIN), ("read_gbps", READ_MIN)):
        rate, wanted = getattr(reading, what), getattr(of_machine, what)
        if rate and wanted and rate < least * wanted:
            return f"{what} was {rate / wanted:.0%} of what is usual"
    return None


def reason_to_drop(steal):
    """Why a round does not count whose turns do, or None. `steal` is the share of processor time
    that the host took from this machine during the round; None: not known."""
    if steal is not None and steal > STEAL_MAX:
        return f"the host took {steal:.1%} of the processor time"
    return None


def interval(ratios):
    """The median and its 95 % confidence interval by order statistics, which supposes nothing of
    the distribution. With fewer values than INTERVAL_ROUNDS_LEAST the interval is theirs, and less
    is certain."""
    ordered = sorted(ratios)
    count = len(ordered)
    # The most values that may be cut off at each end: P(Binomial(count, 1/2) <= cut) <= 2.5 %.
    cut, tail = 0, 0.5 ** count
    while tail + math.comb(count, cut + 1) * 0.5 ** count <= 0.025:
        cut += 1
        tail += math.comb(count, cut) * 0.5 ** count
    return statistics.median(ordered), ordered[cut], ordered[count - 1 - cut]


def is_narrow(ratios, half_width=HALF_WIDTH_WANTED):
    """Whether the interval is as narrow as is wanted."""
    return relative_half_width(*interval(ratios)) <= half_width


def relative_half_width(median, low, high):
    """How far the farther end of an interval is from the median, as a share of that."""
    return max(high - median, median - low) / median


def verdict(low, high):
    """What an interval of the peers' time over plait's says."""
    if low > 1:
        return "faster"
    return "slower" if high < 1 else "undecided"


RETURNED_VERDICTS = ("faster", "equal", "wide", "slower")


def returned_verdict(median, low, high):
    """What the interval of the original's time over that of the returned file says: an undecided
    one shows that they are equal where it is narrow, and nothing where it is wide."""
    told = verdict(low, high)
    if told != "undecided":
        return told
    is_close = relative_half_width(median, low, high) <= RETURNED_HALF_WIDTH_WANTED
    return "equal" if is_close else "wide"


def is_as_fast(median, low, high):
    """Whether the returned file passes: its ratio is 1 or more, or the two are equal."""
    return median >= 1 or returned_verdict(median, low, high) == "equal"
