"""Waiting for conditions. No test sleeps for a fixed time."""

import time

SECONDS_MAX = 120
POLL_SECONDS = 0.05


def wait_until(condition, what, seconds_max=SECONDS_MAX):
    """Polls until `condition()` is true and returns its value; fails after `seconds_max`."""
    deadline = time.monotonic() + seconds_max
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < deadline, f"{what}: has not happened in {seconds_max} s"
        time.sleep(POLL_SECONDS)
