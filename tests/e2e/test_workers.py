"""A worker that dies or hangs in the middle of a task costs that task an attempt, nothing else."""

import json
import os
import signal
import subprocess
import time

import pytest
from onnx import TensorProto, helper

import models
import processes
import programs
from rpc import state_of, type_of
from waiting import wait_until

IDLE_SECONDS = 5
# Of a processor. On a machine with nothing else to do it is a thousandth, a thread that spins takes
# all of one, and whoever runs beside this test makes it a little more.
IDLE_SHARE_MAX = 0.01


@pytest.fixture
def daemon(new_daemon):
    return new_daemon().start()


def stop_worker_in_mid_task(daemon, client):
    """Stops the worker while it runs a task, and returns its process id."""

    def attempt():
        if not client.running_task():
            return 0
        pid = processes.workers(daemon.pid)[0]
        os.kill(pid, signal.SIGSTOP)
        # A stopped worker cannot end its task any more; it may have done so just before, and the
        # answer be on its way.
        time.sleep(0.5)
        if client.running_task():
            return pid
        os.kill(pid, signal.SIGCONT)
        return 0

    return wait_until(attempt, "the worker runs a task")



def test_the_end_of_a_worker_is_told_where_a_shell_ignores_sigchld(new_daemon):
    shell = ("bash", "-c", "trap '' CHLD; exec \"$@\"", "bash")
    daemon = new_daemon(prefix=shell).start()
    os.kill(daemon.wait_for_worker(), signal.SIGTERM)
    (ended,) = wait_until(
        lambda: [event for event in daemon.log_events() if event.get("event") == "worker.ended"],
        "the worker's end is logged")
    assert (ended["signal"], ended["exit_code"]) == (str(int(signal.SIGTERM)), "0")

@pytest.mark.parametrize("how", ["killed", "stopped"])
def test_the_job_succeeds_though_its_worker_is(daemon, how):
    daemon.wait_for_worker()
    with daemon.client() as client:
        original = models.light_model("tiny_resnet")
        job_id = client.submit(client.upload(original), budget_seconds=10).id
        pid = stop_worker_in_mid_task(daemon, client)
        if how == "killed":
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not processes.is_alive(pid), "the worker is gone")
        job = client.wait_for_end(job_id)
        assert state_of(job) == "SUCCEEDED", job.error.message
        assert job.faults == 0
        models.assert_equal_in_onnx_runtime(original, client.download(job.result.optimized_model))
        lost = [event.text for event in client.watch(job_id)[1] if type_of(event) == "WORKER_LOST"]
        assert len(lost) == 1 and "died or went silent" in lost[0], lost
    assert daemon.metric("plait_worker_restarts_total") >= 1
    assert len(processes.workers(daemon.pid)) == 1


def endless_model(width=6000):
    """A product of integers, for which there is reference code only: it takes minutes."""
    value = lambda name: helper.make_tensor_value_info(name, TensorProto.INT32, [width, width])
    graph = helper.make_graph([helper.make_node("MatMul", ["a", "a"], ["b"])], "endless",
                              [value("a")], [value("b")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return model.SerializeToString()


def test_a_kernel_that_does_not_end_costs_its_own_job(new_daemon):
    daemon = new_daemon("--task-seconds-max", "8").start()
    daemon.wait_for_worker()
    with daemon.client() as client:
        endless = client.submit(client.upload(endless_model()), search="none").id
        after = client.submit(client.upload(models.small_model()), search="none").id
        job = client.wait_for_end(endless, 90)
        assert state_of(job) == "QUARANTINED"
        assert "ended their workers 2 times" in job.error.message
        attempts = client.get(endless).attempts
        assert [attempt.outcome for attempt in attempts] == ["fault", "fault"]
        assert all("longer than its 8 s" in attempt.evidence for attempt in attempts)
        job = client.wait_for_end(after, 30)
        assert state_of(job) == "SUCCEEDED", job.error.message
    assert daemon.metric("plait_worker_restarts_total") == 2


def test_a_job_waits_for_a_worker(new_daemon, folder):
    daemon = new_daemon("--worker-program", "/bin/false").start()
    with daemon.client() as client:
        job_id = client.submit(client.upload(models.small_model()), search="none").id
        wait_until(lambda: daemon.metric("plait_worker_restarts_total") >= 2,
                   "the worker has failed to start")
        assert state_of(client.get(job_id).job) == "QUEUED"
        assert daemon.get("/readyz")[0] == 503
    assert daemon.stop() == 0
    repaired = new_daemon().start()
    with repaired.client() as client:
        assert state_of(client.wait_for_end(job_id)) == "SUCCEEDED"


def test_a_worker_without_work_takes_no_processor_time(daemon):
    pid = daemon.wait_for_worker()
    with daemon.client() as client:
        # Its threads have worked, and wait for more.
        job = client.submit(client.upload(models.light_model("tiny_resnet")), search="none")
        assert state_of(client.wait_for_end(job.id)) == "SUCCEEDED"
        wait_until(lambda: not client.running_task(), "the worker is idle")
    before = processes.processor_seconds(pid)
    # The time itself is what is waited for.
    time.sleep(IDLE_SECONDS)
    used = processes.processor_seconds(pid) - before
    assert used <= IDLE_SECONDS * IDLE_SHARE_MAX, f"{used} s in {IDLE_SECONDS} s"


def test_stored_profiles_have_the_yardsticks_of_their_batch(daemon):
    daemon.wait_for_worker()
    with daemon.client() as client:
        job = client.submit(client.upload(models.small_model()), search="none")
        assert state_of(client.wait_for_end(job.id)) == "SUCCEEDED"
        stored = [entry.profile for entry in client.call("ListProfiles").profiles
                  if not entry.HasField("load_effect")]
    assert stored
    for profile in stored:
        assert profile.yardsticks.multiply_add_flops_per_us > 0
        assert profile.yardsticks.read_bytes_per_us > 0


def test_check_compares_the_kernels_of_the_device_with_the_reference():
    finished = subprocess.run([programs.program("plait-worker"), "--check", "--device", "cpu"],
                              env=programs.environment(), capture_output=True, text=True,
                              timeout=60, check=False)
    assert finished.returncode == 0, finished.stderr
    device = json.loads(finished.stdout)
    assert device["id"] == "cpu" and device["kernels_checked"] > 10
    assert all(rate > 0 for rate in device["yardsticks"].values()), device["yardsticks"]
