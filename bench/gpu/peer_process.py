"""A peer's process as the coordinator sees it: asks, waits with a limit, restarts."""

import json
import os
import pathlib
import queue
import subprocess
import sys
import tempfile
import threading

CHILD = pathlib.Path(__file__).resolve().parent / "peer_child.py"


class PeerFailure(Exception):
    """The peer refused, crashed or took too long; the message says which."""


class PeerProcess:
    """Starts lazily, and again after a failure that killed it. Used from one thread."""

    def __init__(self, peer, device):
        self.peer, self.device = peer, device
        self.process = None

    @property
    def running(self):
        return self.process is not None

    def send(self, command, **arguments):
        """Sends a command; receive() takes its answer."""
        if not self.running:
            self._start()
        try:
            self.process.stdin.write(json.dumps({"command": command, **arguments}) + "\n")
            self.process.stdin.flush()
        except OSError:
            pass  # receive() says how it ended

    def receive(self, timeout_s):
        """Returns the answer. Raises PeerFailure; after a crash or a timeout the child is gone."""
        try:
            line = self.answers.get(timeout=timeout_s)
        except queue.Empty:
            self.kill()
            raise PeerFailure(f"no answer within {timeout_s:.0f} s") from None
        if line is None:
            words = self._last_words()
            self.kill()
            raise PeerFailure(words)
        reply = json.loads(line)
        if "failure" in reply:
            raise PeerFailure(reply["failure"])
        return reply

    def ask(self, timeout_s, command, **arguments):
        """send() and receive()."""
        self.send(command, **arguments)
        return self.receive(timeout_s)

    def kill(self):
        """Ends the child and everything it started."""
        if self.running:
            try:
                os.killpg(self.process.pid, 9)
            except ProcessLookupError:
                pass
            self.process.wait()
            self.errors.close()
            self.process = None

    def _start(self):
        self.errors = tempfile.TemporaryFile()
        environment = {**os.environ, "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
        if self.device == "cpu":  # a dry run beside other work: threads would wait for each other
            environment["OMP_NUM_THREADS"] = "1"
        self.process = subprocess.Popen(
            [sys.executable, str(CHILD), "--peer", self.peer, "--device", self.device],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True,
            start_new_session=True, env=environment)
        self.answers = queue.Queue()
        threading.Thread(target=_collect, args=(self.process.stdout, self.answers),
                         daemon=True).start()

    def _last_words(self):
        code = self.process.wait()
        self.errors.seek(0)
        lines = self.errors.read().decode(errors="replace").strip().splitlines()
        return f"exit code {code}" + (f": {lines[-1][:300]}" if lines else "")


def _collect(stream, answers):
    for line in stream:
        answers.put(line)
    answers.put(None)
