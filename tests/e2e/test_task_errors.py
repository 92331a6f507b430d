"""What a job is told when its tasks fail: a worker of the test's own answers each of them."""

import math
import re

import grpc
import pytest

import models
import programs
from rpc import FINAL_STATES, job_reason, state_of

VERSION = int(re.search(r"kWorkerProtocolVersion = (\d+);",
                        (programs.ROOT / "proto/wire/worker_protocol.h").read_text())[1])


@pytest.fixture
def daemon(new_daemon):
    """A daemon without workers of its own."""
    return new_daemon("--workers", "none").start()


def idle_worker(worker):
    """Tells the server of a worker for "cpu"; returns its request."""
    request = worker.request_of("Synchronize")
    request.worker_id = "w1"
    request.protocol_version = VERSION
    request.device.id = request.device.backend = "cpu"
    request.device.fingerprint = "cpu-of-the-test"
    request.device.cores = 2
    request.idle.SetInParent()
    worker.call("Synchronize", request)
    return request


def test_a_worker_of_another_version_is_refused_by_name(daemon):
    with daemon.worker_client() as worker:
        request = idle_worker(worker)
        request.protocol_version = 1
        with pytest.raises(grpc.RpcError) as refused:
            worker.call("Synchronize", request)
        assert refused.value.code() == grpc.StatusCode.INVALID_ARGUMENT
        assert refused.value.details().startswith(
            f"protocol_version: must be {VERSION}, is 1")


def fail_every_task(client, worker, request, job_id, code):
    """Answers the tasks of a job with this code until the job has ended; returns it."""
    while state_of(job := client.get(job_id).job) not in FINAL_STATES:
        answer = worker.call("Synchronize", request)
        if not answer.HasField("task"):
            request.idle.SetInParent()
            continue
        request.completed.task_id = answer.task.task_id
        request.completed.attempt = answer.task.attempt
        request.completed.result.error.code = code
        request.completed.result.error.message = "conv3: of the test"
    return job


@pytest.mark.parametrize("code, reason", [
    (0, "INTERNAL"),  # OK is no error
    (3, "INTERNAL"),  # INVALID_ARGUMENT: the search made the task, not the client
    (4, "DEADLINE"),
    (8, "LIMIT_EXCEEDED"),
    (9, "DEVICE_UNAVAILABLE"),  # FAILED_PRECONDITION: another driver or build
    (12, "UNSUPPORTED"),
    (14, "DEVICE_UNAVAILABLE"),
])
def test_a_failed_task_fails_its_job_with_the_reason(daemon, code, reason):
    with daemon.client() as client, daemon.worker_client() as worker:
        request = idle_worker(worker)
        job_id = client.submit(client.upload(models.small_model()), search="none").id
        job = fail_every_task(client, worker, request, job_id, code)
    assert state_of(job) == "FAILED"
    assert job_reason(job) == reason
    assert "conv3: of the test" in job.error.message


def test_a_job_that_ends_its_workers_is_run_once_more_and_quarantined(daemon):
    with daemon.client() as client, daemon.worker_client() as worker:
        request = idle_worker(worker)
        job_id = client.submit(client.upload(models.small_model()), search="none").id
        job = fail_every_task(client, worker, request, job_id, 10)  # ABORTED
        attempts = client.get(job_id).attempts
    assert state_of(job) == "QUARANTINED"
    assert job_reason(job) == "QUARANTINED"
    assert "ended their workers 2 times" in job.error.message
    assert [attempt.outcome for attempt in attempts] == ["fault", "fault"]
    assert all("conv3: of the test (attempt 3, the last one)" in attempt.evidence
               for attempt in attempts)


def test_what_takes_longer_than_a_task_may_is_returned_as_it_is(new_daemon, cli, folder,
                                                                model_file):
    """Six runs fit into a task, and forty-six do not, whatever a run takes here. The budget has
    room for them, or else it would be what is told; and one that takes a third of the time is a
    candidate however busy the machine is."""
    model = model_file(models.slow_model(layers=4, width=64, rows=2**18,
                                         activations=("LeakyRelu", "HardSigmoid") * 4))
    timed = cli.run("bench", model, "--rounds", "5", "--json").expect(0).json["models"][0]
    seconds_max = math.ceil(20 * timed["latency_us_median"] / 1e6)
    daemon = new_daemon("--task-seconds-max", str(seconds_max)).start()
    daemon.wait_for_worker()
    report = cli.run("optimize", model, "-o", folder / "out.onnx", "--json",
                     "--budget", "10m", "--server", daemon.address).expect(0).json
    assert report["speedup"] == 1
    assert report["baseline"]["samples"] >= 3
    assert any("task_seconds_max" in warning for warning in report["warnings"]), report
