"""plait.optimize, by the wheel's own programs."""

import dataclasses
import os
import re
import signal
import subprocess
import sys
import time
import typing

import pytest
from wheels import ROOT, programs

import models
import schemas

sys.path.insert(0, str(ROOT / "runtime" / "python"))
from plait import errors, reading, results  # noqa: E402 (found through the line above)

OPTIMIZE = """
import sys
import numpy as np
import plait

model, output = sys.argv[1:]
seen = []
array = np.random.default_rng(1).standard_normal((1, 3, 32, 32)).astype(np.float32)
result = plait.optimize(model, output, budget=4, seed=3, inputs=[{"input": array}],
                        on_progress=seen.append)
assert result.output.path == output and result.speedup >= 1 and result.equivalence.verdict
assert result.baseline.latency_us_median > 0 and result.device.id == "cpu"
assert result.equivalence.inputs_tried >= 1 and not result.cached
assert [event.type for event in seen][0] == "QUEUED" and seen[-1].type == "SUCCEEDED"
assert [event.sequence for event in seen] == list(range(1, len(seen) + 1))
assert "baseline" in {event.text for event in seen} and seen[0].time.tzinfo
session = plait.InferenceSession(output)
assert session.uses_embedded_plan, session.plan
# As bytes; its profiles are known now.
with open(model, "rb") as file:
    again = plait.optimize(file.read(), output, budget=4, search="none")
assert again.search.profiles_cached > 0
for call, kind in [
    (lambda: plait.optimize("none.onnx"), plait.NotFoundError),
    (lambda: plait.optimize(b"no model", output), plait.ModelRejectedError),
    (lambda: plait.optimize(model, output, search="all"), plait.InvalidRequestError),
    (lambda: plait.optimize(model, output, device="cuda:7"), plait.DeviceUnavailableError),
    (lambda: plait.optimize(model, output, server="127.0.0.1:1"), plait.UnreachableError),
    (lambda: plait.optimize(model, output, server="127.0.0.1:1", insecure=True),
     plait.UnreachableError),
    (lambda: plait.optimize(model, output, server="127.0.0.1:1", insecure=True,
                            tls=plait.Tls(ca="ca.pem")), plait.InvalidRequestError),
    (lambda: plait.optimize(model, output, colour=1), TypeError),
    (lambda: plait.optimize(b"no model"), TypeError),
]:
    try:
        call()
    except kind as error:
        print(kind.__name__, getattr(error, "reason", ""))
"""


def test_it_optimizes_with_typed_results_and_errors(bare, model, tmp_path):
    out = bare.python(OPTIMIZE, model, tmp_path / "out.onnx")
    assert out.splitlines() == [
        "NotFoundError NOT_FOUND", "ModelRejectedError MODEL_REJECTED",
        "InvalidRequestError INVALID_REQUEST", "DeviceUnavailableError DEVICE_UNAVAILABLE",
        "UnreachableError UNREACHABLE", "UnreachableError UNREACHABLE",
        "InvalidRequestError INVALID_REQUEST", "TypeError ", "TypeError "]


# A shell that starts tests in the background has programs ignore interrupts, and theirs, too.
INTERRUPTED = """
import signal
import sys
import plait

signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    plait.optimize(sys.argv[1], sys.argv[2], budget=120, result_cache=False,
                   on_progress=lambda event: print(event.type, flush=True))
except KeyboardInterrupt:
    print("interrupted")
"""


def test_an_interrupt_cancels_the_job(bare, tmp_path):
    # One that takes some seconds: a tiny model's job may be over before it hears of the signal.
    model = tmp_path / "model.onnx"
    model.write_bytes(models.light_model("demo"))
    process = subprocess.Popen(
        [bare.program("python"), "-c", INTERRUPTED, model, tmp_path / "out.onnx"], text=True,
        stdout=subprocess.PIPE, env=bare.variables)
    for line in process.stdout:
        if line == "PHASE\n":
            break
    process.send_signal(signal.SIGINT)
    started = time.monotonic()
    rest = process.communicate(timeout=programs.RUN_SECONDS_MAX)[0].splitlines()
    assert rest[-1] == "interrupted" and process.returncode == 0
    assert time.monotonic() - started < 60
    assert not (tmp_path / "out.onnx").exists()
    # The daemon is gone with it, and the job is not left over.
    lock = bare.folder / "cache" / "plait" / "plaitd.socket"
    assert not os.path.exists(lock)


INTERRUPTED_AT_START = """
import signal
import subprocess
import sys
import plait

class Interrupted(subprocess.Popen):
    def __init__(self, *words, **options):
        super().__init__(*words, **options)
        Interrupted.process = self
        signal.raise_signal(signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
subprocess.Popen = Interrupted
try:
    plait.optimize(sys.argv[1], sys.argv[2], budget=60)
except KeyboardInterrupt:
    print("interrupted", Interrupted.process.poll() is not None)
    Interrupted.process.kill()
"""


def test_an_interrupt_while_the_program_starts_ends_it_too(bare, model, tmp_path):
    out = bare.python(INTERRUPTED_AT_START, model, tmp_path / "out.onnx")
    assert out == "interrupted True\n"
    assert not (tmp_path / "out.onnx").exists()


def properties(kind):
    """Name -> whether None is allowed, of all fields that have no default."""
    hints = typing.get_type_hints(kind)
    return {field.name: type(None) in typing.get_args(hints[field.name])
            for field in dataclasses.fields(kind) if field.default is dataclasses.MISSING}


def compare(kind, schema, path=""):
    """Every field that a schema requires is one of the class, and nullable where it is there."""
    found = properties(kind)
    assert set(found) == set(schema["required"]), path
    hints = typing.get_type_hints(kind)
    for name, part in schema["properties"].items():
        if name not in found:
            assert name in hints, f"{path}.{name}"
            continue
        is_nullable = None in part.get("enum", ()) or "null" in part.get("type", ())
        assert found[name] == is_nullable, f"{path}.{name}"
        if dataclasses.is_dataclass(hints[name]):
            compare(hints[name], part, f"{path}.{name}")
        elif part.get("type") == "array" and part["items"].get("type") == "object":
            compare(typing.get_args(hints[name])[0], part["items"], f"{path}.{name}")


def test_results_are_as_the_schemas_say():
    compare(results.OptimizeResult, schemas.load("optimize"))
    assert set(properties(results.Event)) == set(schemas.load("watch")["required"])


def test_a_result_of_a_later_version_is_read():
    later = {"reason": "X", "message": "m", "new": 1}
    assert reading.read(results.JobError, later) == results.JobError("X", "m")
    with pytest.raises(KeyError):
        reading.read(results.JobError, {"reason": "X"})


def test_a_result_of_an_earlier_version_is_read():
    told = {field: 1 for field in ("latency_us_median", "latency_us_p10", "latency_us_p95",
                                   "samples", "kernels", "fallback_nodes", "offchip_bytes",
                                   "predicted_us")}
    report = reading.read(results.BaselineReport, told)
    assert report.fallback_operators == () and report.predicted_us_low is None
    assert report.load_ms is None and report.kernels == 1


def test_every_reason_has_an_exception():
    text = (ROOT / "proto/plait/v1/error.proto").read_text()
    reasons = re.findall(r"^  ERROR_REASON_(\w+) = ", text, re.MULTILINE)
    assert len(reasons) > 20
    internal = {name for name in reasons
                if type(errors.error_of(name, "")) is errors.InternalError}
    # A worker's, and what only faults of plait's are.
    assert internal == {"UNSPECIFIED", "INTERNAL", "STALE_ATTEMPT"}
