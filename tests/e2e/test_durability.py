"""Nothing acknowledged is lost: kill -9 under load, damaged starts, and the sync before a reply."""

import random
import re
import shutil
import subprocess
import threading
import time

import grpc
import pytest

import models
import programs
from daemon import Daemon
from rpc import FINAL_STATES, state_of, type_of
from waiting import wait_until

KILLS_SHORT = 5
KILLS_LONG = 100
JOBS_PER_KILL = 3
UNFINISHED_MAX = 6
MOMENT_SECONDS_MAX = 0.5


class Load:
    """Submits small jobs for as long as it runs; remembers which were acknowledged."""

    def __init__(self, daemon, digest):
        self.daemon = daemon
        self.digest = digest
        self.acknowledged = {}
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        number = 0
        while not self.stopping.is_set():
            number += 1
            self.submit(f"wish-{number}", number)

    def submit(self, request_id, seed):
        while not self.stopping.is_set():
            try:
                with self.daemon.client() as client:
                    job = client.submit(self.digest, request_id, search="none", seed=seed,
                                        budget_seconds=2)
                self.acknowledged[request_id] = (job.id, seed)
                wait_until(lambda: self.stopping.is_set() or self.unfinished() < UNFINISHED_MAX,
                           "the queue is short", 600)
                return
            except (grpc.RpcError, KeyError):
                self.stopping.wait(0.05)

    def unfinished(self):
        """How many wishes are not over; everything counts while the daemon is dead."""
        try:
            with self.daemon.client() as client:
                return sum(state_of(job) not in FINAL_STATES for job in client.jobs())
        except (grpc.RpcError, KeyError):
            return len(self.acknowledged)

    def stop(self):
        self.stopping.set()
        self.thread.join(60)


def kill_under_load(daemon, kills):
    with daemon.client() as client:
        digest = client.upload(models.small_model())
    load = Load(daemon, digest)
    moments = random.Random(kills)
    for _ in range(kills):
        goal = len(load.acknowledged) + JOBS_PER_KILL
        wait_until(lambda goal=goal: len(load.acknowledged) >= goal, "jobs are acknowledged", 300)
        # Anywhere in a job's life, which takes about as long.
        time.sleep(moments.uniform(0, MOMENT_SECONDS_MAX))
        daemon.kill()
        daemon.start()
    load.stop()
    with daemon.client() as client:
        ids = {job_id for job_id, _ in load.acknowledged.values()}
        assert len(ids) == len(load.acknowledged) >= kills * JOBS_PER_KILL
        for request_id, (job_id, seed) in load.acknowledged.items():
            repeated = client.submit(digest, request_id, search="none", seed=seed,
                                     budget_seconds=2)
            assert repeated.id == job_id, f"{request_id} has two jobs"
        assert ids <= {job.id for job in client.jobs()}
        for job_id in ids:
            client.wait_for_end(job_id, 600)
            assert_finished_once(client, job_id)
        print(f"{kills} kills, {len(ids)} acknowledged jobs, each finished once")


def assert_finished_once(client, job_id):
    _, events, job = client.watch(job_id)
    assert state_of(job) == "SUCCEEDED", f"{job_id}: {state_of(job)} {job.error.message}"
    assert [event.sequence for event in events] == list(range(1, len(events) + 1))
    assert [type_of(event) for event in events if type_of(event) in FINAL_STATES] == ["SUCCEEDED"]
    attempts = client.get(job_id).attempts
    assert [attempt.outcome for attempt in attempts].count("succeeded") == 1
    assert {attempt.outcome for attempt in attempts} <= {"succeeded", "lost"}
    assert job.faults == 0
    client.download(job.result.optimized_model)


@pytest.fixture
def daemon(new_daemon):
    daemon = new_daemon().start()
    daemon.wait_for_worker()
    return daemon


def test_kill_9_under_load_loses_nothing(daemon):
    kill_under_load(daemon, KILLS_SHORT)


@pytest.mark.long
def test_kill_9_under_load_a_hundred_times_loses_nothing(daemon):
    kill_under_load(daemon, KILLS_LONG)


def start_expecting_refusal(daemon):
    finished = subprocess.run(daemon.command(), env=programs.environment(), text=True,
                              capture_output=True, timeout=60, check=False)
    assert finished.returncode not in (0, -6, -11), finished
    return finished.stderr.strip().splitlines()[-1]


def test_a_second_daemon_on_the_same_data_is_refused(daemon):
    message = start_expecting_refusal(Daemon(daemon.data_dir))
    assert str(daemon.data_dir) in message and str(daemon.pid) in message
    assert daemon.get("/livez")[0] == 200


def test_a_second_daemon_on_the_same_data_asks_for_no_gpus(daemon, folder):
    asked = folder / "asked"
    worker = folder / "worker"
    worker.write_text(f"#!/bin/sh\ntouch {asked}\nsleep 30\n")
    worker.chmod(0o755)
    words = [programs.program("plaitd"), "--data-dir", str(daemon.data_dir), "--insecure",
             "--worker-program", str(worker)]
    done = subprocess.run(words, env=programs.environment(), timeout=20)
    assert done.returncode != 0 and not asked.exists()


def test_a_second_daemon_on_the_same_port_is_refused(daemon, folder):
    other = Daemon(folder / "other", listen=daemon.address)
    assert daemon.address in start_expecting_refusal(other)
    assert daemon.get("/livez")[0] == 200


def test_a_second_daemon_on_the_same_socket_is_refused(new_daemon, folder):
    listen = f"unix:{folder}/plaitd.sock"
    first = new_daemon(listen=listen).start()
    assert first.address == listen
    assert "plaitd.sock" in start_expecting_refusal(Daemon(folder / "other", listen=listen))
    with first.client() as client:
        assert client.call("GetCapabilities").version


def test_a_socket_left_by_a_killed_daemon_is_taken_over(new_daemon, folder):
    daemon = new_daemon(listen=f"unix:{folder}/plaitd.sock").start()
    daemon.wait_for_worker()
    daemon.kill()
    daemon.start()
    with daemon.client() as client:
        assert client.call("GetCapabilities").version


def can_trace():
    return shutil.which("strace") and subprocess.run(
        ["strace", "-o", "/dev/null", "true"], capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(not can_trace(), reason="strace cannot trace here")
def test_a_submission_is_synced_before_it_is_answered(new_daemon, folder):
    trace = folder / "trace"
    daemon = new_daemon(prefix=[
        "strace", "-f", "-y", "-ttt", "-e", "trace=fsync,fdatasync", "-o", str(trace)]).start()
    with daemon.client() as client:
        digest = client.upload(models.small_model())
        begin = time.time()
        client.submit(digest, search="none")
        end = time.time()

    def syncs():
        calls = re.findall(r"^\d+ +(\d+\.\d+) (?:fsync|fdatasync)\(\d+<([^>]*)>",
                           trace.read_text(), re.MULTILINE)
        return [path for at, path in calls if begin <= float(at) <= end and "jobs" in path]

    wait_until(syncs, "a sync of the jobs' database between the call and its answer", 10)
