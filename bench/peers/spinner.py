"""A process that spins on one core, as a neighbour that never rests does."""

import contextlib
import os
import subprocess
import sys

SPIN = "while True: pass"


@contextlib.contextmanager
def spinning(core):
    """A process that spins on a core while the block runs; the runtimes may use all cores."""
    process = subprocess.Popen([sys.executable, "-c", SPIN])
    try:
        os.sched_setaffinity(process.pid, {core})
        yield
    finally:
        process.kill()
        process.wait()
