"""A model in a runtime, in a process of its own, as the worker sees it."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time

from plait_runtime_worker import frames

# By ONNX's number of the type.
NUMPY_TYPES = {1: "<f4", 2: "|u1", 3: "|i1", 4: "<u2", 5: "<i2", 6: "<i4", 7: "<i8", 9: "|b1",
               10: "<f2", 11: "<f8", 12: "<u4", 13: "<u8"}
PACKAGE_FOLDER = pathlib.Path(__file__).resolve().parents[1]
# The last words of a process that has died, and how long they are waited for: a process that it
# has started may hold the other end.
WORDS_BYTES_MAX = 2000
WORDS_SECONDS_MAX = 1
# An answer holds the outputs of one run.
ANSWER_BYTES_MAX = 4 << 30


class Failed(Exception):
    """The runtime refused the model, crashed at it, or met a limit: the model's own fault."""


class Overdue(Exception):
    """The task's time is over."""


class Words:
    """The end of what a process says on its stderr. A pipe, since it may not write to files."""

    def __init__(self, pipe):
        self.last = b""
        self.pipe = pipe
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self):
        with self.pipe:
            while data := self.pipe.read(WORDS_BYTES_MAX):
                self.last = (self.last + data)[-WORDS_BYTES_MAX:]

    def last_line(self):
        """The last line that is not empty, when the process has died."""
        self.thread.join(WORDS_SECONDS_MAX)
        lines = self.last.decode(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")


class Session:
    """Use as a context manager: the process ends with the block. Methods raise Failed or Overdue,
    and then the session is of no use any more. `ends_at` is when the task's time is over."""

    def __init__(self, settings, ends_at):
        self.ends_at = ends_at
        self.folder = tempfile.TemporaryDirectory(prefix="plait-runtime-")
        # Empty, and not to be written to: what a model might name beside itself is not there.
        os.chmod(self.folder.name, 0o500)
        command = [sys.executable, "-s", "-m", "plait_runtime_worker.session_child",
                   str(os.getpid()), str(settings.memory_bytes), str(settings.cpu_seconds)]
        environment = {"PYTHONPATH": os.pathsep.join([str(PACKAGE_FOLDER)] + settings.paths),
                       "PYTHONDONTWRITEBYTECODE": "1", "LC_ALL": "C.UTF-8"}
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            bufsize=0, cwd=self.folder.name, env=environment, start_new_session=True)
        self.words = Words(self.process.stderr)
        self.reader = frames.Reader(self.process.stdout)
        try:
            self._ask({"command": "start", "runtime": settings.runtime,
                       "threads": settings.threads, "precision": settings.precision})
        except (Failed, Overdue):
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Ends the process; no other session waits for it."""
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        self.folder.cleanup()

    def give(self, model, sets):
        """The bytes of the model, and sets of (name, dtype, dims, bytes)."""
        described = [[[name, dtype, dims] for name, dtype, dims, _ in one] for one in sets]
        values = [value for one in sets for _, _, _, value in one]
        self._ask({"command": "give", "inputs": described}, [*values, model])

    def load(self):
        """Loads the model, in place of what was loaded before, and runs it once; milliseconds."""
        fields, _ = self._ask({"command": "load"})
        return float(fields["load_ms"])

    def outputs(self, index):
        """The outputs on one set of inputs, as arrays."""
        import numpy

        fields, runs = self._ask({"command": "outputs", "set": index})
        try:
            described = fields["outputs"]
            if len(described) != len(runs):
                raise ValueError(f"{len(described)} outputs with the values of {len(runs)}")
            return [numpy.frombuffer(run, dtype).reshape(dims)
                    for (dtype, dims), run in zip(described, runs)]
        except (ValueError, TypeError, KeyError) as error:
            raise Failed("its process answered nonsense") from error

    def time(self, settle_us, timed):
        """Runs it, untimed for so long at first; microseconds of each timed run."""
        fields, _ = self._ask({"command": "time", "settle_us": settle_us, "timed": timed})
        samples = [float(sample) for sample in fields["samples_us"]]
        if len(samples) != timed or not all(0 < sample < float("inf") for sample in samples):
            raise Failed("its process answered nonsense")
        return samples

    def _ask(self, request, runs=()):
        # A process that does not read, or computes for ever, is killed when the time is over.
        left = max(0.0, self.ends_at - time.monotonic())
        timer = threading.Timer(left + 1, self.process.kill)
        timer.start()
        try:
            frames.write(self.process.stdin, request, runs)
            fields, values = self.reader.read(self.ends_at, ANSWER_BYTES_MAX)
        except frames.Late:
            raise Overdue() from None
        except (frames.Broken, MemoryError) as error:
            if time.monotonic() >= self.ends_at:
                raise Overdue() from None
            raise Failed(self._death()) from error
        finally:
            timer.cancel()
        if "error" in fields:
            raise Failed(str(fields["error"]))
        return fields, values

    def _death(self):
        try:
            code = self.process.wait(1)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return "its process broke off"
        last = self.words.last_line()
        if code == -signal.SIGXCPU:
            return "the runtime needs more processor time than it may use"
        how = (f"crashed ({signal.Signals(-code).name})" if code < 0 else f"exited with {code}")
        return f"the runtime {how}" + (f": {last}" if last else "")
