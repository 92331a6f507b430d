"""What a worker and the process of a session say to each other, over a pipe each way; what
`plait gate` and its process do is of the same form (see pairs).

A frame is a line of JSON, an object, and then as many bytes as its "bytes" lists, one run behind
the other. Commands, and the answers to them, each of which may be {"error": TEXT} instead:

    {"command": "start", "runtime": NAME, "threads": N, "precision": P}   {}
    {"command": "give", "inputs": [[[NAME, DTYPE, [DIM, ..]], ..], ..]}   {}
        with the values of each input and then the model
    {"command": "load"}                                                   {"load_ms": X}
    {"command": "outputs", "set": I}      {"outputs": [[DTYPE, [DIM, ..]], ..]} + their values
    {"command": "time", "settle_us": N, "timed": N}                       {"samples_us": [..]}
"""

import json
import os
import select
import time

# A line names inputs and outputs, of which a model may have some thousands.
LINE_BYTES_MAX = 16 << 20
# What a pipe is asked for at a time.
CHUNK_BYTES = 1 << 20


class Broken(Exception):
    """The other end is gone, or says what is no frame."""


class Late(Exception):
    """The other end has not answered in time."""


def standard_streams():
    """(file to write, Reader) of this process, whose stdout is stderr from now on: libraries print
    as they like, and only answers may reach the real one."""
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    return answers, Reader(os.fdopen(os.dup(0), "rb", buffering=0))


def write(file, fields, runs=()):
    """Writes a frame to an unbuffered file."""
    views = [memoryview(run).cast("B") for run in runs]
    line = json.dumps({**fields, "bytes": [len(view) for view in views]}) + "\n"
    try:
        for view in (memoryview(line.encode()), *views):
            while view:
                view = view[file.write(view[:CHUNK_BYTES]) :]
    except (BrokenPipeError, OSError) as error:
        raise Broken(str(error)) from error


class Reader:
    """Reads frames from an unbuffered file."""

    def __init__(self, file):
        self.file = file
        self.buffer = bytearray()

    def read(self, ends_at=None, bytes_max=None):
        """The next frame as (fields, runs). Raises Broken, Late at `ends_at` (monotonic)."""
        while (end := self.buffer.find(b"\n")) < 0:
            if len(self.buffer) > LINE_BYTES_MAX:
                raise Broken("a line without an end")
            self._more(ends_at)
        line = bytes(self.buffer[:end])
        del self.buffer[: end + 1]
        try:
            fields = json.loads(line)
            sizes = [int(size) for size in fields["bytes"]]
        except (ValueError, KeyError, TypeError) as error:
            raise Broken("what came is no frame") from error
        if any(size < 0 for size in sizes) or (bytes_max is not None and sum(sizes) > bytes_max):
            raise Broken("more bytes than there may be")
        return fields, [self._run(size, ends_at) for size in sizes]

    def _run(self, size, ends_at):
        while len(self.buffer) < size:
            self._more(ends_at)
        run = bytes(self.buffer[:size])
        del self.buffer[:size]
        return run

    def _more(self, ends_at):
        if ends_at is not None:
            left = max(0.0, ends_at - time.monotonic())
            if not select.select([self.file], [], [], left)[0]:
                raise Late()
        data = self.file.read(CHUNK_BYTES)
        if not data:
            raise Broken("the end of the pipe")
        self.buffer += data
