"""What every runtime of the worker must do, each in its own words: the tasks of a server are
answered, and whatever a model does is the model's error."""

import contextlib
import os
import pathlib
import signal
import time

import pytest

import runtime_models as models


def sessions(pid):
    """Processes of sessions, whichever thread of the worker has started them."""
    found = []
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):  # A thread may end while it is looked at.
            found += [int(word) for word in (task / "children").read_text().split()]
    return found


def test_models_are_timed_in_pairs_and_compared(runtime, server):
    server.start_worker(runtime)
    result = server.ask(models.task(server, [models.product(), models.repeated_relu()]))
    original, rewritten = result.measure_models.models
    assert not original.error and not rewritten.error
    assert len(original.latency_us) == len(rewritten.latency_us) == sum(original.load_rounds) >= 4
    assert list(original.load_rounds) == list(rewritten.load_rounds)
    assert len(original.load_rounds) == len(original.load_ms) == 2
    assert all(time_us > 0 for time_us in [*original.latency_us, *rewritten.latency_us])
    assert original.max_rel_error == 0 and rewritten.max_rel_error < 1e-5
    assert rewritten.inputs_tried == 2 and len(rewritten.outputs) == 1
    assert "=2" in result.measure_models.options  # the threads
    device = server.seen[0].device
    assert device.id == device.backend == runtime and device.runtime_version
    assert device.runtime_version in device.fingerprint and len(device.fingerprint) <= 256


def test_another_function_is_told(runtime, server):
    server.start_worker(runtime)
    result = server.ask(models.task(server, [models.product(), models.product(scale=1.01)]))
    assert 0.005 < result.measure_models.models[1].max_rel_error < 0.05


def test_symbolic_dimensions_are_bound(runtime, server):
    server.start_worker(runtime)
    symbolic = models.product(shape=("batch", models.WIDTH))
    result = server.ask(models.task(server, [symbolic, models.product()]))
    assert [one.error for one in result.measure_models.models] == ["", ""]


def test_a_model_that_is_none_is_its_own_error(runtime, server):
    server.start_worker(runtime)
    result = server.ask(models.task(server, [models.product(), b"no model", models.product()]))
    original, wrong, again = result.measure_models.models
    assert wrong.error and not wrong.latency_us
    assert not original.error and not again.error and original.latency_us


def test_an_original_that_does_not_run_ends_the_task_with_its_error(runtime, server):
    server.start_worker(runtime)
    result = server.ask(models.task(server, [b"", models.product()]))
    assert not result.HasField("error")
    assert result.measure_models.models[0].error
    assert not result.measure_models.models[1].latency_us


def test_a_model_that_eats_memory_meets_its_limit(runtime, server):
    worker = server.start_worker(runtime, "--memory-bytes", str(3 << 30))
    result = server.ask(models.task(server, [models.product(), models.bomb(8)]))
    original, bomb = result.measure_models.models
    assert not original.error and bomb.error
    assert worker.poll() is None, "the worker is not at fault"


def test_weights_of_other_files_are_not_read(runtime, server, tmp_path):
    (tmp_path / "weights").write_bytes(bytes(models.WIDTH * models.WIDTH * 4))
    server.start_worker(runtime)  # in this very folder
    for location in ("weights", str(tmp_path / "weights")):
        result = server.ask(models.task(server, [models.product(), models.external(location)]))
        assert result.measure_models.models[1].error


def test_a_crash_is_the_models_error(runtime, server):
    worker = server.start_worker(runtime)
    task = models.task(server, [models.product(), models.repeated_relu()], seconds_max=30,
                       rounds=10_000)
    server.give(task)
    ends_at = time.monotonic() + 60
    while len(sessions(worker.pid)) < 2:
        assert time.monotonic() < ends_at
        time.sleep(0.05)
    time.sleep(1)  # into the rounds
    os.kill(sorted(sessions(worker.pid))[1], signal.SIGKILL)
    result = server.result()
    original, rewritten = result.measure_models.models
    assert "SIGKILL" in rewritten.error and not rewritten.latency_us
    assert not original.error and original.latency_us
    assert worker.poll() is None


def test_a_task_past_its_deadline_ends_with_its_processes(runtime, server):
    worker = server.start_worker(runtime)
    task = models.task(server, [models.product()], seconds_max=300, rounds=1_000_000)
    task.deadline_seconds = 4
    result = server.ask(task)
    assert result.error.code == 4
    assert not sessions(worker.pid)


def test_a_task_that_nobody_wants_any_more_is_left(runtime, server):
    worker = server.start_worker(runtime)
    server.give(models.task(server, [models.product()], seconds_max=300, rounds=1_000_000))
    ends_at = time.monotonic() + 60
    while not sessions(worker.pid):
        assert time.monotonic() < ends_at
        time.sleep(0.05)
    server.task = None
    while sessions(worker.pid):
        assert time.monotonic() < ends_at
        time.sleep(0.05)
    assert worker.poll() is None
    result = server.ask(models.task(server, [models.product()]))
    assert not result.measure_models.models[0].error


def test_sessions_die_with_the_worker(runtime, server):
    worker = server.start_worker(runtime)
    server.give(models.task(server, [models.product()], seconds_max=300, rounds=1_000_000))
    ends_at = time.monotonic() + 60
    while not (found := sessions(worker.pid)):
        assert time.monotonic() < ends_at
        time.sleep(0.05)
    worker.kill()
    worker.wait()
    while any(pathlib.Path(f"/proc/{pid}").exists() for pid in found):
        assert time.monotonic() < ends_at
        time.sleep(0.05)


def test_other_tasks_are_refused(runtime, server):
    server.start_worker(runtime)
    task = models.task(server, [models.product()])
    task.profile.SetInParent()
    assert server.ask(task).error.code == 12  # UNIMPLEMENTED
    task = models.task(server, [models.product()])
    task.measure_models.precision = "int4"
    assert server.ask(task).error.code == 12


def test_bf16_is_computed_in_or_said_to_be_fp32(runtime, server):
    server.start_worker(runtime)
    task = models.task(server, [models.product()])
    task.measure_models.precision = "bf16"
    measured = server.ask(task).measure_models
    assert not measured.models[0].error
    assert {"onnxruntime": "computes in fp32",
            "openvino": "INFERENCE_PRECISION_HINT=bf16",
            "plaitsession": "threads=2"}[runtime] in measured.options  # a plan has its own


@pytest.mark.parametrize("precision", ["tf32", "fp16"])
def test_what_gpus_have_is_said_to_be_fp32(runtime, server, precision):
    server.start_worker(runtime)
    task = models.task(server, [models.product()])
    task.measure_models.precision = precision
    measured = server.ask(task).measure_models
    assert not measured.models[0].error
    assert f"computes in fp32, as it has no {precision}" in measured.options


def test_a_blob_that_is_not_sent_fails_the_task(runtime, server):
    server.start_worker(runtime)
    task = models.task(server, [models.product()])
    server.blobs.clear()
    assert server.ask(task).error.code == 5
    task = models.task(server, [models.product()])
    server.blobs = {name: b"x" * len(data) for name, data in server.blobs.items()}
    assert server.ask(task).error.code == 15
