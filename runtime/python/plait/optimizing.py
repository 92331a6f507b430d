"""plait.optimize: the program `plait optimize`, on this machine or by a server."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any

from plait import _programs
from plait.errors import Error, InternalError, error_of
from plait.options import JobOptions, Path, Tls, bounds, check_names
from plait.reading import read
from plait.results import Event, OptimizeResult

if TYPE_CHECKING:
    from typing_extensions import Unpack

_FLAGS = {"device": "--device", "threads": "--threads", "search": "--search",
          "schedule": "--schedule", "precision": "--precision",
          "max_rel_error": "--max-rel-error", "body": "--body", "opset": "--opset",
          "seed": "--seed"}


def optimize(model: Path | bytes, output: Path | None = None, *, server: str | None = None,
             tls: Tls | None = None, insecure: bool = False, cache_dir: Path | None = None,
             on_progress: Callable[[Event], None] | None = None,
             **options: Unpack[JobOptions]) -> OptimizeResult:
    """Makes a model faster and writes it to `output` (default: MODEL.optimized.onnx).

    Without `server`, and where the environment has no PLAIT_SERVER, this machine does it, with what
    earlier runs have measured in `cache_dir` (default: ~/.cache/plait). `insecure`: no TLS also to
    a server on another machine, as in plait.Client. `on_progress` is called for each event.
    `options`: see plait.JobOptions. KeyboardInterrupt, and whatever `on_progress` raises, cancels
    the job.

    Raises plait.Error: NotFoundError (no such file), InvalidRequestError, ModelRejectedError,
    LimitExceededError, DeviceUnavailableError, JobFailedError, NotEquivalentError, CancelledError,
    DeadlineError (the best result so far may lie at `output`), and with a server
    UnreachableError, PermissionDeniedError and QuotaExceededError.
    """
    check_names(options)
    if isinstance(model, bytes) and output is None:
        raise TypeError("output: must be given for a model that is no file")
    with tempfile.TemporaryDirectory(prefix="plait-") as folder:
        path = _as_file(model, folder)
        words = [_programs.path_of("plait"), "optimize", path, "--json", "--events"]
        words += [] if output is None else ["--output", os.fspath(output)]
        words += _server_words(server, tls, insecure, cache_dir)
        words += _option_words(options, folder)
        code, out, last = _finish(words, on_progress or (lambda event: None))
    return _result(code, out, last)


def _as_file(model: Path | bytes, folder: str) -> str:
    if not isinstance(model, bytes):
        # A name like "--help" is no option.
        return os.path.join(".", model) if not os.path.isabs(model) else os.fspath(model)
    path = pathlib.Path(folder, "model.onnx")
    path.write_bytes(model)
    return str(path)


def _server_words(server: str | None, tls: Tls | None, insecure: bool,
                  cache_dir: Path | None) -> list[str]:
    words = [] if server is None else ["--server", server]
    words += ["--insecure"] if insecure else []
    files = tls or Tls()
    for flag, file in [("--cache-dir", cache_dir), ("--tls-ca", files.ca),
                       ("--tls-cert", files.cert), ("--tls-key", files.key)]:
        if file is not None:
            words += [flag, os.fspath(file)]
    return words


def _option_words(options: Mapping[str, Any], folder: str) -> list[str]:
    words = []
    for name, flag in _FLAGS.items():
        if name in options:
            words += [flag, str(options[name])]
    if "budget" in options:
        words += ["--budget", f"{float(options['budget']):.3f}s"]
    if options.get("accept_inconclusive"):
        words.append("--accept-inconclusive")
    if not options.get("result_cache", True):
        words.append("--no-result-cache")
    for name, shape in options.get("shapes", {}).items():
        words += ["--shape", f"{name}={'x'.join(map(str, shape))}"]
    for name, ranges in options.get("shape_ranges", {}).items():
        dims = ("..".join(map(str, sorted({*bounds(each)}))) for each in ranges)
        words += ["--shape-range", f"{name}={'x'.join(dims)}"]
    if "plan_for" in options:
        threads = ",".join(map(str, options["plan_for"]))
        words += ["--plan-for", f"{options.get('device', 'cpu')}:threads={threads}"]
    if options.get("allow_predicted"):
        words.append("--allow-predicted")
    if options.get("drop_plans"):
        words.append("--drop-plans")
    for name in options.get("runtimes", ()):
        words += ["--runtime", name]
    for place in _write_inputs(options.get("inputs", ()), folder):
        words += ["--inputs", place]
    return words


def _write_inputs(inputs: Sequence[Mapping[str, Any]], folder: str) -> Iterator[str]:
    """A folder for each call, as `plait run --inputs` reads it."""
    if not inputs:
        return
    import numpy as np

    for number, arrays in enumerate(inputs):
        place = pathlib.Path(folder, f"inputs_{number}")
        place.mkdir()
        for name, array in arrays.items():
            file = name.replace("/", "_").replace(":", "_")
            np.save(place / f"{file}.npy", np.asarray(array, order="C"))
        yield str(place)


def _finish(words: list[str], on_progress: Callable[[Event], None]) -> tuple[int, str, str]:
    """The program's exit code, its standard output, and the last line of its errors."""
    with tempfile.TemporaryFile("w+") as out:
        # A session of its own: a terminal's Ctrl-C is told to it once, by us, and so it cancels the
        # job in order; a second one ends it at once.
        process = None
        try:
            with _interrupts_held_back():
                process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, text=True,
                                           stderr=subprocess.PIPE, start_new_session=True,
                                           errors="replace", env=_programs.environment())
            assert process.stderr is not None
            last = _follow(process.stderr, on_progress)
            process.wait()
        except BaseException:
            if process is not None:
                _cancel(process)
            raise
        finally:
            if process is not None and process.stderr is not None:
                process.stderr.close()
        out.seek(0)
        return process.returncode, out.read(), last


@contextlib.contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """An interrupt comes at the end. One that came while a program is started would leave it behind
    with nobody who knows it: only the main thread gets any, so another one need not wait."""
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    held: list[tuple[int, Any]] = []
    signal.signal(signal.SIGINT, lambda number, frame: held.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
    if held:
        handler(*held[0])


def _follow(lines: IO[str], on_progress: Callable[[Event], None]) -> str:
    last = ""
    for line in lines:
        if line.startswith("{"):
            on_progress(read(Event, json.loads(line)))
        elif line.strip():
            last = line.strip()
    return last


def _cancel(process: subprocess.Popen[str]) -> None:
    """Returns when the program is gone, which has cancelled its job first."""
    process.send_signal(signal.SIGINT)
    try:
        process.communicate()
    except BaseException:
        process.kill()
        process.wait()
        raise


def _result(code: int, out: str, last: str) -> OptimizeResult:
    found: dict[str, Any] = {}
    with contextlib.suppress(ValueError):
        found = json.loads(out)
    if code == 0 and "output" in found:
        return read(OptimizeResult, found)
    if "error" in found:
        raise error_of(found["error"]["reason"], found["error"]["message"])
    if last.startswith("plait: "):
        raise Error(last.removeprefix("plait: "))
    raise InternalError(f"plait optimize ended with {code}: {last}")
