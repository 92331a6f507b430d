"""How a turn of a peer is timed: device time from events, host latency, warm and cold caches.

All times are microseconds. One replay is too short for a pair of events, so that warm device times
are means over batches of replays; every batch is one sample.
"""

import time

BATCH_REPLAYS = 50
REPLAYS = 200
DISCARDED = 20
HOST_REPLAYS = 50
COLD_REPLAYS = 20
# More than twice the L2 cache of the largest GPUs, so that nothing of the last replay stays.
FLUSH_BYTES = 192 << 20


class Counts:
    """How many replays a turn has; fewer where `turn_s` would not suffice."""

    def __init__(self, estimate_us, turn_s):
        possible = turn_s * 1e6 / max(estimate_us, 1.0)
        share = min(1.0, possible / (DISCARDED + REPLAYS + HOST_REPLAYS + COLD_REPLAYS))
        self.batch = max(2, round(BATCH_REPLAYS * min(1.0, share * 4)))
        self.batches = max(1, round(REPLAYS * share / self.batch))
        self.discarded = max(1, round(DISCARDED * share))
        self.host = max(3, round(HOST_REPLAYS * share))
        self.cold = max(3, round(COLD_REPLAYS * share))


class HostTimer:
    """Times with the processor's clock; `wait` blocks until the device is done."""

    kind = "host"

    def __init__(self, step, wait, flush=None):
        self.step, self.wait, self.flush = step, wait, flush

    def _timed(self, replays):
        self.wait()
        begin = time.perf_counter()
        for _ in range(replays):
            self.step()
        self.wait()
        return (time.perf_counter() - begin) * 1e6 / replays

    def turn(self, turn_s):
        """One turn: lists of samples."""
        counts = Counts(self._timed(2), turn_s)
        self._timed(counts.discarded)
        result = {"replays": counts.batch * counts.batches, "timer": self.kind}
        result["device_us"] = [self._warm(counts.batch) for _ in range(counts.batches)]
        result["host_us"] = [self._timed(1) for _ in range(counts.host)]
        result["cold_us"] = [self._cold() for _ in range(counts.cold)] if self.flush else []
        return result

    def _warm(self, replays):
        return self._timed(replays)

    def _cold(self):
        self.flush()
        return self._timed(1)


class EventTimer(HostTimer):
    """Times on the GPU's own clock with torch's events."""

    kind = "events"

    def __init__(self, torch, step, device):
        buffer = torch.ones(FLUSH_BYTES // 4, device=device)
        super().__init__(step, torch.cuda.synchronize, lambda: buffer.mul_(1.0001))
        self.begin = torch.cuda.Event(enable_timing=True)
        self.end = torch.cuda.Event(enable_timing=True)

    def _between_events(self, replays):
        self.begin.record()
        for _ in range(replays):
            self.step()
        self.end.record()
        self.end.synchronize()
        return self.begin.elapsed_time(self.end) * 1e3 / replays

    def _warm(self, replays):
        self.wait()
        return self._between_events(replays)

    def _cold(self):
        self.flush()
        return self._between_events(1)
