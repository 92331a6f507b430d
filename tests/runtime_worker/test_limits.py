"""What the process of a session may use, exceeded for real. Its runtime is a package of the name
onnxruntime whose models are programs: they do what a stranger's model could make a runtime do."""

import time

import pytest
from plait_runtime_worker import limits, measure, session

RUNTIME = """
class SessionOptions:
    pass


class GraphOptimizationLevel:
    ORT_ENABLE_ALL = 99


class InferenceSession:
    def __init__(self, model, options, providers):
        exec(bytes(model).decode())
"""
CPU_SECONDS = 4


@pytest.fixture
def load(tmp_path):
    """Loads a program as a model; returns milliseconds, or raises what the worker would see."""
    (tmp_path / "onnxruntime").mkdir()
    (tmp_path / "onnxruntime" / "__init__.py").write_text(RUNTIME)
    settings = measure.Settings(runtime="onnxruntime", threads=1, precision="strict",
                                memory_bytes=4 << 30, cpu_seconds=CPU_SECONDS,
                                paths=[str(tmp_path)])

    def run(program):
        with session.Session(settings, time.monotonic() + 60) as process:
            process.give(program.encode(), [[]])
            process.load()

    return run


def test_processor_time(load):
    with pytest.raises(session.Failed, match="more processor time than it may use"):
        load("while True: pass")


def test_a_model_that_waits_for_the_signal_of_processor_time_ends_all_the_same(load):
    with pytest.raises(session.Failed, match="SIGKILL"):
        load("import signal; signal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass")


def test_memory(load):
    with pytest.raises(session.Failed, match="MemoryError"):
        load("bytearray(8 << 30)")


def test_files_to_write(load, tmp_path):
    with pytest.raises(session.Failed, match="File too large"):
        load(f"open({str(tmp_path / 'written')!r}, 'wb', buffering=0).write(b'x')")
    assert (tmp_path / "written").stat().st_size == 0
    # A runtime's own code does not ignore the signal, as Python does.
    with pytest.raises(session.Failed, match="SIGXFSZ"):
        load("import os, signal; signal.signal(signal.SIGXFSZ, signal.SIG_DFL)\n"
             f"os.write(os.open({str(tmp_path / 'written')!r}, os.O_WRONLY), b'x')")
    assert (tmp_path / "written").stat().st_size == 0


def test_open_files(load):
    with pytest.raises(session.Failed, match=r"OSError: \[Errno 24\] Too many open files"):
        load("kept = [open('/dev/null') for _ in range(1000)]")
    with pytest.raises(session.Failed, match="AttributeError: .*io_binding"):
        load(f"kept = [open('/dev/null') for _ in range({limits.FILES_MAX - 50})]")


def test_limits_are_not_raised_again(load):
    for limit in ("CPU", "FSIZE", "NOFILE", "AS", "CORE"):
        with pytest.raises(session.Failed, match="not allowed to raise maximum limit|EPERM"):
            load("import os, resource\n"
                 "if os.geteuid() == 0: os.setresuid(65534, 65534, 65534)\n"
                 f"resource.setrlimit(resource.RLIMIT_{limit}, (1 << 40, 1 << 40))")


def test_the_last_words_of_a_runtime_are_told(load):
    with pytest.raises(session.Failed, match=r"crashed \(SIGABRT\): what went wrong"):
        load("import os\nos.write(2, b'what went wrong\\n')\nos.abort()")
    # More than a pipe holds, of which the end counts.
    with pytest.raises(session.Failed, match=r"exited with 3: the end"):
        load("import os\nfor _ in range(100): os.write(2, b'x' * 9999 + b'\\n')\n"
             "os.write(2, b'the end\\n')\nos._exit(3)")


