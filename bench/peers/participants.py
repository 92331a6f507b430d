"""The runtimes that peers.py compares, behind one interface.

A participant is a process that loads one model, then times a turn whenever it is asked. Only the
one that was asked computes; the others wait.
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

# What plait's plans may keep (OptimizeOptions.precision) where a precision is compared. A plan that
# may lose accuracy in other numbers is of neither.
PLAN_PRECISIONS = {"fp32": {"strict"}, "bf16": {"strict", "bf16"}}
YARDSTICK_TIMEOUT_S = 60.0


class ParticipantFailure(Exception):
    """A runtime is missing, rejects the model, crashed, or took too long."""


@dataclasses.dataclass(frozen=True)
class Turn:
    """Latencies of one turn in microseconds."""

    median: float
    p10: float
    p95: float
    samples: int

    @staticmethod
    def of(samples_us):
        return Turn(statistics.median(samples_us), float(np.percentile(samples_us, 10)),
                    float(np.percentile(samples_us, 95)), len(samples_us))


@dataclasses.dataclass(frozen=True)
class Loaded:
    """What a participant says of a model that it has loaded and run once."""

    version: str
    load_ms: float
    flops: int | None = None
    plan: str | None = None


class Participant:
    """A child process that answers JSON lines. Use as a context manager: it ends with the block."""

    def __init__(self, name, command, timeout_s):
        self.name = name
        self.timeout_s = timeout_s
        self.stderr = tempfile.TemporaryFile()
        try:
            self.process = subprocess.Popen(
                [str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=self.stderr, text=True)
        except OSError as error:
            self.stderr.close()
            raise ParticipantFailure(f"does not start: {error.strerror}") from error
        self.answers = queue.Queue()
        self.collector = threading.Thread(target=self._collect, daemon=True)
        self.collector.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def load(self, model, inputs):
        """Loads the model and runs it once on the arrays of the folder `inputs`."""
        reply = self.ask({"command": "load", "model": str(model), "folder": str(inputs)},
                         "version", "load_ms")
        return Loaded(reply["version"], reply["load_ms"], reply.get("flops"), reply.get("plan"))

    def time(self, runs):
        """Returns the Turn of so many runs."""
        return Turn.of(self.ask({"command": "time", "runs": runs}, "samples_us")["samples_us"])

    def outputs(self, folder):
        """Returns file name to array for the loaded inputs; the folder must be empty."""
        self.ask({"command": "outputs", "folder": str(folder)})
        return {path.name: np.load(path) for path in pathlib.Path(folder).glob("*.npy")}

    def peak_memory_bytes(self):
        """The most memory that the process has had resident; None where the system does not say."""
        try:
            status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        except OSError:
            return None
        for line in status.splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
        return None

    def close(self):
        """Ends the process, by force if it does not listen."""
        try:
            self.process.stdin.write(json.dumps({"command": "quit"}) + "\n")
            self.process.stdin.close()
        except OSError:
            pass  # It has ended already.
        try:
            self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        # The answers' pipe is the collector's until it has seen its end. What a child of the
        # process holds open is left to the collector.
        self.collector.join(timeout=5)
        if not self.collector.is_alive():
            self.process.stdout.close()
        self.stderr.close()

    def ask(self, request, *fields):
        """Sends a command and returns its answer, which has the fields."""
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
        try:
            reply = json.loads(line)
        except ValueError:
            reply = None
        if isinstance(reply, dict) and "error" in reply:
            raise ParticipantFailure((reply["error"].splitlines() or ["no message"])[0])
        if not isinstance(reply, dict) or any(field not in reply for field in fields):
            raise ParticipantFailure(f"{request['command']} printed something else")
        return reply

    def _collect(self):
        for line in self.process.stdout:
            self.answers.put(line)
        self.answers.put(None)

    def _last_words(self):
        code = self.process.wait()
        self.stderr.seek(0)
        lines = self.stderr.read().decode(errors="replace").strip().splitlines()
        return f"exit code {code}" + (f", {lines[-1]}" if lines else "")


def runtime(name, library, arguments):
    """A Python runtime, one of those of runtime_child.py."""
    return Participant(name, [sys.executable, CHILD, "--runtime", library, "--threads",
                              arguments.threads, "--precision", arguments.precision],
                       arguments.timeout_s)


def check_plan(model, arguments):
    """Raises ParticipantFailure where the plans of a file are not of the precision compared."""
    if not arguments.plait.is_file():
        return
    found = {plan["precision"] for plan in plans_of(model, arguments)} - {None}
    others = sorted(found - PLAN_PRECISIONS[arguments.precision])
    if others:
        raise ParticipantFailure(f"its plan has precision {others[0]}, compared is "
                                 f"{arguments.precision}")


def plans_of(model, arguments):
    """What `plait plans` says of the plans in a file."""
    done = subprocess.run(
        [str(word) for word in (arguments.plait, "plans", model, "--threads", arguments.threads,
                                "--json")],
        capture_output=True, text=True, timeout=arguments.timeout_s, check=False)
    if done.returncode != 0:
        raise ParticipantFailure(f"plait plans: exit code {done.returncode}")
    return json.loads(done.stdout)["plans"]


def plait_program(arguments):
    """The program beside `plait` that bench/peers builds."""
    return arguments.plait.parent / "plait_child"


def plait(name, arguments):
    """plait's executor, in a program of its own."""
    # Beside others an application leaves its threads where the system puts them.
    placement = "anywhere" if arguments.beside_spinner else "pinned"
    return _plait(name, arguments, placement, arguments.timeout_s)


def yardstick(arguments):
    """The same, to read how fast the machine is."""
    return _plait("yardstick", arguments, "pinned", YARDSTICK_TIMEOUT_S)


def _plait(name, arguments, placement, timeout_s):
    program = plait_program(arguments)
    if not program.is_file():
        raise ParticipantFailure(f"{program.name} is not built")
    return Participant(name, [program, arguments.threads, placement], timeout_s)
