"""The machine that a comparison ran on: what it is, and what it was doing."""

import json
import os
import pathlib
import platform
import subprocess

CPUID_FIELDS = ("vendor_id", "cpu family", "model", "model name", "stepping", "microcode",
                "cache size", "flags")


def describe():
    """What a latency means nothing without, for the JSON."""
    return {"processor": processor_name(), "cores": os.cpu_count(), "system": platform.system(),
            "architecture": platform.machine(), "cpuid": cpuid()}


def cpuid():
    """What /proc/cpuinfo says of the first processor."""
    try:
        first = pathlib.Path("/proc/cpuinfo").read_text().split("\n\n")[0]
    except OSError:
        return {}
    pairs = (line.partition(":") for line in first.splitlines())
    return {name.strip(): value.strip() for name, _, value in pairs
            if name.strip() in CPUID_FIELDS}


def processor_name():
    return cpuid().get("model name") or platform.processor() or "unknown"


def peaks(program):
    """How fast the processor is at best, by build/processor_peaks; None when that is not built."""
    if not program.is_file():
        return None
    done = subprocess.run([str(program)], capture_output=True, text=True, timeout=120, check=True)
    return json.loads(done.stdout)


def multiply_add_peak_gflops(peaks_read, threads):
    """The peak of so many threads, or None."""
    rates = (peaks_read or {}).get("multiply_add_gflops", {})
    return rates.get(str(threads))


class StealClock:
    """The share of processor time that the host took since the last reading."""

    def __init__(self):
        self.last = self._read()

    def share(self):
        """None where the system does not say."""
        now, before = self._read(), self.last
        self.last = now
        if now is None or before is None or sum(now) == sum(before):
            return None
        # user nice system idle iowait irq softirq steal; guest times are in user's already.
        return (now[7] - before[7]) / (sum(now[:8]) - sum(before[:8]))

    @staticmethod
    def _read():
        try:
            line = pathlib.Path("/proc/stat").read_text().splitlines()[0]
        except OSError:
            return None
        return [int(word) for word in line.split()[1:]]
