"""The process of one session: limits first, then commands on stdin; see frames.

Arguments: the parent's process id, bytes of address space, seconds of processor time.
"""

import sys
import time

from plait_runtime_worker import frames, limits

# Threads that spin for work show as processor time of this process. It is quiet when this share of
# a pause was used, and looked at for no longer than SETTLE_SECONDS_MAX.
PAUSE_SECONDS = 0.002
QUIET_SHARE = 0.1
SETTLE_SECONDS_MAX = 0.5


class Session:
    """The runtime, the model and its inputs; each method is a command."""

    def start(self, request, _):
        from plait_runtime_worker import runtimes

        module = runtimes.module(request["runtime"])
        self.runtime = module.Runtime(request["threads"], request["precision"])
        return {}, []

    def give(self, request, runs):
        import numpy

        self.model = runs.pop()
        values = iter(runs)
        self.sets = []
        for described in request["inputs"]:
            arrays = {}
            for name, dtype, dims in described:
                array = numpy.frombuffer(next(values), dtype).reshape(dims)
                # A copy is aligned as the runtimes like it, and may be written to.
                arrays[name] = array.copy()
            self.sets.append(arrays)
        return {}, []

    def load(self, _, __):
        began = time.perf_counter()
        self.runtime.load(self.model, self.sets[0])
        self.runtime.run()
        return {"load_ms": (time.perf_counter() - began) * 1000}, []

    def outputs(self, request, _):
        import numpy

        arrays = [
            numpy.ascontiguousarray(array)
            for array in self.runtime.outputs(self.sets[request["set"]])
        ]
        described = [[array.dtype.str, list(array.shape)] for array in arrays]
        return {"outputs": described}, [array.reshape(-1).view("u1") for array in arrays]

    def time(self, request, _):
        settled_at = time.perf_counter_ns() + request["settle_us"] * 1000
        while time.perf_counter_ns() < settled_at:
            self.runtime.run()
        samples = []
        for _ in range(request["timed"]):
            began = time.perf_counter_ns()
            self.runtime.run()
            samples.append((time.perf_counter_ns() - began) / 1000)
        settle()
        return {"samples_us": samples}, []


def settle():
    """Returns when the threads of this process have stopped spinning."""
    ends_at = time.monotonic() + SETTLE_SECONDS_MAX
    while time.monotonic() < ends_at:
        used = time.process_time()
        time.sleep(PAUSE_SECONDS)
        if time.process_time() - used < QUIET_SHARE * PAUSE_SECONDS:
            return


def main():
    parent, memory_bytes, cpu_seconds = (int(argument) for argument in sys.argv[1:4])
    if not limits.die_with(parent):
        return 1
    limits.apply(memory_bytes, cpu_seconds)
    answers, reader = frames.standard_streams()
    session = Session()
    commands = {
        name: getattr(session, name) for name in ("start", "give", "load", "outputs", "time")
    }
    while True:
        try:
            request, runs = reader.read()
            try:
                fields, values = commands[request["command"]](request, runs)
            # A runtime that refuses a model raises whatever it likes.
            except Exception as error:  # pylint: disable=broad-except
                text = " ".join(str(error).split()) or "no message"
                fields, values = {"error": f"{type(error).__name__}: {text[:2000]}"}, []
            frames.write(answers, fields, values)
        except frames.Broken:
            return 0


if __name__ == "__main__":
    sys.exit(main())
