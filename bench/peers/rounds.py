"""The rules of a comparison: which rounds count, and when there are enough of them. Pure."""

import math
import statistics

# Fixed before anything is measured, so that no round is dropped for what it shows.
STEAL_MAX = 0.01
YARDSTICK_DRIFT_MAX = 0.03
# How long a round is put off at most while the host has the processors on cores without a common
# cache.
PARTED_WAIT_SECONDS = 6
# Rounds are added until the 95 % interval of the ratio is no wider than this to either side.
HALF_WIDTH_WANTED = 0.03


def reason_to_drop(steal, multiply_add_gflops, are_threads_far=None):
    """Why a round does not count, or None.

    `steal` is the share of processor time that the host took from this machine during the round;
    the readings of the multiply-add yardstick are those before and after it; `are_threads_far` says
    whether the processors were parted then. None: not known.
    """
    if steal is not None and steal > STEAL_MAX:
        return f"the host took {steal:.1%} of the processor time"
    before, after = multiply_add_gflops
    if before and after and abs(after / before - 1) > YARDSTICK_DRIFT_MAX:
        return f"the yardstick moved by {after / before - 1:+.1%}"
    if are_threads_far:
        return "the host parted the processors"
    return None


def interval(ratios):
    """The median and its 95 % confidence interval by order statistics, which supposes nothing of
    the distribution. With fewer than six values the interval is theirs, and less is certain."""
    ordered = sorted(ratios)
    count = len(ordered)
    # The most values that may be cut off at each end: P(Binomial(count, 1/2) <= cut) <= 2.5 %.
    cut, tail = 0, 0.5 ** count
    while tail + math.comb(count, cut + 1) * 0.5 ** count <= 0.025:
        cut += 1
        tail += math.comb(count, cut) * 0.5 ** count
    return statistics.median(ordered), ordered[cut], ordered[count - 1 - cut]


def is_narrow(ratios):
    """Whether the interval is as narrow as is wanted."""
    median, low, high = interval(ratios)
    return max(high - median, median - low) <= HALF_WIDTH_WANTED * median


def verdict(low, high):
    """What an interval of the peers' time over plait's says."""
    if low > 1:
        return "faster"
    return "slower" if high < 1 else "undecided"
