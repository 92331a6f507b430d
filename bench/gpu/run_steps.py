"""Runs the steps of `run`: child processes with deadlines, one log, files within their limits."""

import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

# A child that is told to end has this long to write what it has.
GRACE_S = 8.0
# How often the recorder's lines are taken over into the results folder.
SYNC_S = 5.0


class Log:
    """Prints lines and keeps them in run.log, each with the seconds since the start."""

    def __init__(self, path):
        self.file = path.open("a", buffering=1)
        self.start = time.monotonic()
        self.lock = threading.Lock()

    def __call__(self, text):
        with self.lock:
            for line in text.splitlines():
                stamped = f"[{time.monotonic() - self.start:6.1f}] {line}"
                print(stamped, flush=True)
                self.file.write(stamped + "\n")


class Interrupted(Exception):
    """SIGTERM came: write what there is and end."""


class Steps:
    """Runs commands one after the other until a common deadline."""

    def __init__(self, log, budget_s):
        self.log = log
        self.packer = None  # a profile_packing.Packer while profiles are recorded
        self.deadline = time.monotonic() + budget_s
        self.results = []
        self.interrupted = False
        signal.signal(signal.SIGTERM, self._on_signal)
        signal.signal(signal.SIGINT, self._on_signal)

    def _on_signal(self, *_):
        self.interrupted = True

    def left_s(self):
        return self.deadline - time.monotonic()

    def run(self, name, command, limit_s, environment=None):
        """Runs a command for at most `limit_s`; returns whether it ended well.

        A command that is cut off gets SIGTERM first: every step keeps what it has written.
        """
        if self.interrupted:
            raise Interrupted
        limit_s = min(limit_s, self.left_s() - GRACE_S)
        if limit_s <= 1:
            self.note(name, "skipped: no time left")
            return False
        self.log(f"== {name}: at most {limit_s:.0f} s: {' '.join(map(str, command))}")
        begin = time.monotonic()
        process = subprocess.Popen(
            list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            errors="replace", start_new_session=True, env={**os.environ, **(environment or {})})
        reader = threading.Thread(target=self._copy_output, args=(process.stdout,), daemon=True)
        reader.start()
        reason = self._wait(process, begin + limit_s)
        reader.join(timeout=2)
        took_s = time.monotonic() - begin
        code = process.returncode
        state = reason or ("done" if code == 0 else f"failed with exit code {code}")
        self.note(name, f"{state} after {took_s:.1f} s")
        if self.interrupted:
            raise Interrupted
        return code == 0

    def note(self, name, state):
        """Records how a step ended."""
        self.results.append((name, state))
        self.log(f"== {name}: {state}")

    def _copy_output(self, stream):
        for line in stream:
            self.log(f"   {line.rstrip()}")

    def _wait(self, process, deadline):
        """Waits for the end, the deadline, full files or a signal; returns why it was cut off."""
        synced = time.monotonic()
        while True:
            try:
                process.wait(timeout=0.5)
                _signal_group(process, signal.SIGKILL)  # what a finished step left running
                self._sync()
                return None
            except subprocess.TimeoutExpired:
                pass
            if time.monotonic() - synced > SYNC_S:
                self._sync()
                synced = time.monotonic()
            reason = self._reason_to_stop(deadline)
            if reason is not None:
                break
        _signal_group(process, signal.SIGTERM)
        try:
            process.wait(timeout=GRACE_S)
        except subprocess.TimeoutExpired:
            pass
        _signal_group(process, signal.SIGKILL)
        process.wait()
        self._sync()
        return reason

    def _sync(self):
        if self.packer:
            self.packer.sync()

    def _reason_to_stop(self, deadline):
        if self.interrupted:
            return "interrupted"
        if time.monotonic() >= deadline:
            return "cut off at its deadline"
        return "cut off: the profile files are full" if self.packer and self.packer.full else None


def _signal_group(process, number):
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        pass


def has_modules(python, *names):
    """Whether that interpreter finds all of these; importing torch would take seconds."""
    command = [str(python), "-c", "import importlib.util, sys\n"
               "sys.exit(any(importlib.util.find_spec(name) is None for name in sys.argv[1:]))",
               *names]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def find_python(log, may_install):
    """An interpreter with numpy, onnx and torch: this one, or a venv under build/.

    Returns None when there is none. Only without a GPU is anything installed: a GPU machine has no
    network, and its torch is the peer.
    """
    if has_modules(sys.executable, "numpy", "onnx", "torch"):
        return sys.executable
    if may_install:
        return _make_environment(log)
    if has_modules(sys.executable, "numpy", "onnx"):
        log("torch is missing: no peers")
        return sys.executable
    log("numpy and onnx are missing: no jobs and no peers, and no kernel list is made")
    return None


def _make_environment(log):
    here = pathlib.Path(__file__).resolve().parent
    models = here.parent / "models"
    sys.path.insert(0, str(models))
    import environments
    torch = ("-r", str(here / "requirements-torch.txt"))
    rest = ("-r", str(here / "requirements.txt"))
    if environments.cuda13_toolkit_is_present():
        installs = (("--no-deps", *torch), rest)
    else:
        installs = (("torch",), rest)
    environment = environments.Environment("bench-gpu", installs)
    try:
        environment.ensure()
    except environments.EnvironmentFailure as failure:
        log(str(failure))
        return None
    return str(environment.python)
