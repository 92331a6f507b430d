"""The runtimes that peers.py compares, behind one interface.

A participant loads a model, then times a round whenever it is asked. Only the one that was asked
computes; the others wait in their own processes.
"""

import dataclasses
import json
import pathlib
import queue
import statistics
import subprocess
import sys
import tempfile
import threading

import numpy as np

CHILD = pathlib.Path(__file__).resolve().parent / "runtime_child.py"


class ParticipantFailure(Exception):
    """A runtime is missing, rejects the model, crashed, or took too long."""


@dataclasses.dataclass(frozen=True)
class Round:
    """Latencies of one round in microseconds."""

    median: float
    p10: float
    p95: float
    samples: int

    @staticmethod
    def of(samples_us):
        if len(samples_us) < 2:
            return Round(samples_us[0], samples_us[0], samples_us[0], 1)
        return Round(statistics.median(samples_us), float(np.percentile(samples_us, 10)),
                     float(np.percentile(samples_us, 95)), len(samples_us))


class ChildParticipant:
    """A Python runtime in a long-lived child process."""

    def __init__(self, name, runtime, threads, timeout_s):
        self.name = name
        self.version = "?"
        self.timeout_s = timeout_s
        self.stderr = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [sys.executable, str(CHILD), "--runtime", runtime, "--threads", str(threads)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.stderr, text=True)
        self.answers = queue.Queue()
        threading.Thread(target=self._collect, daemon=True).start()

    def load(self, model, inputs):
        """Loads the model and runs it once; `inputs` is an .npz file. Returns milliseconds."""
        reply = self._ask({"command": "load", "model": str(model), "inputs": str(inputs)})
        self.version = reply["version"]
        return reply["load_ms"]

    def time(self, runs):
        """Returns the Round of `runs` runs."""
        return Round.of(self._ask({"command": "time", "runs": runs})["samples_us"])

    def outputs(self, folder):
        """Returns output name to array for the loaded inputs."""
        path = pathlib.Path(folder) / f"{self.name}.npz"
        self._ask({"command": "outputs", "path": str(path)})
        with np.load(path) as file:
            return {name: file[name] for name in file.files}

    def close(self):
        """Ends the child, by force if it does not listen."""
        try:
            self.process.communicate(json.dumps({"command": "quit"}) + "\n", timeout=5)
        except (subprocess.TimeoutExpired, OSError, ValueError):
            self.process.kill()
            self.process.wait()
        self.stderr.close()

    def _collect(self):
        for line in self.process.stdout:
            self.answers.put(line)
        self.answers.put(None)

    def _ask(self, request):
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            line = self.answers.get(timeout=self.timeout_s)
        except queue.Empty:
            self.process.kill()
            raise ParticipantFailure(f"no answer within {self.timeout_s:g} s") from None
        except OSError:
            line = None
        if line is None:
            raise ParticipantFailure(f"process ended: {self._last_words()}")
        reply = json.loads(line)
        if "error" in reply:
            raise ParticipantFailure(reply["error"].splitlines()[0])
        return reply

    def _last_words(self):
        code = self.process.wait()
        self.stderr.seek(0)
        lines = self.stderr.read().decode(errors="replace").strip().splitlines()
        return f"exit code {code}" + (f", {lines[-1]}" if lines else "")


class PlaitParticipant:
    """plait through its command line: one process per round, which loads and times the model."""

    version = "?"

    def __init__(self, name, program, threads, timeout_s):
        self.name = name
        self.program = pathlib.Path(program)
        self.threads = threads
        self.timeout_s = timeout_s
        self.model = None
        self.inputs = None

    def load(self, model, inputs):
        """Remembers both; returns None, since each round loads the model anew."""
        if not self.program.is_file():
            raise ParticipantFailure(f"{self.program.name} is not built")
        self.model, self.inputs = model, inputs
        self.version = self._read(lambda answer: answer["version"], "version")

    def time(self, runs):
        """Returns what plait measured; it chooses the number of runs itself."""
        del runs
        return self._read(self._round, "bench", str(self.model), "--threads", str(self.threads))

    def outputs(self, folder):
        """Returns output name to array, from `plait run` on the same inputs."""
        given, taken = (pathlib.Path(folder) / f"{self.name}_{end}" for end in ("in", "out"))
        given.mkdir()
        taken.mkdir()
        with np.load(self.inputs) as file:
            for name in file.files:
                np.save(given / f"{name}.npy", file[name])
        self._call("run", str(self.model), "--inputs", str(given), "--outputs", str(taken))
        return {path.stem: np.load(path) for path in taken.glob("*.npy")}

    def close(self):
        """Nothing stays behind between calls."""

    @staticmethod
    def _round(answer):
        entry = answer["models"][0]
        return Round(float(entry["latency_us_median"]), float(entry["latency_us_p10"]),
                     float(entry["latency_us_p95"]), int(entry["samples"]))

    def _read(self, pick, *arguments):
        """Calls plait with --json and returns what `pick` takes out of its answer."""
        text = self._call(*arguments, "--json")
        try:
            return pick(json.loads(text))
        except (ValueError, KeyError, IndexError, TypeError) as error:
            raise ParticipantFailure(
                f"{arguments[0]} printed something else: {error!r}") from error

    def _call(self, *arguments):
        try:
            result = subprocess.run([str(self.program), *arguments], capture_output=True,
                                    text=True, timeout=self.timeout_s, check=False)
        except subprocess.TimeoutExpired:
            raise ParticipantFailure(f"no answer within {self.timeout_s:g} s") from None
        except OSError as error:
            raise ParticipantFailure(f"does not start: {error.strerror}") from error
        if result.returncode != 0:
            lines = result.stderr.strip().splitlines() or ["no message"]
            raise ParticipantFailure(
                f"{arguments[0]} ended with exit code {result.returncode}: {lines[-1]}")
        warnings = [line for line in result.stderr.splitlines() if line.startswith("warning: ")]
        if warnings:
            # A plan that is ignored would be timed as if it were plait's.
            raise ParticipantFailure(f"{arguments[0]}: {warnings[0]}")
        return result.stdout
