"""The data directory of the first schema, opened by the daemon of today.

tests/storage/sqlite/first_schema.tar.gz was made by the programs of commit bc04218: a job in each
final state, one queued, and one that ran when the daemon was killed with -9.
"""

import os
import signal
import sqlite3
import subprocess
import tarfile
import time

import onnx
import pytest

import models
import programs
from rpc import state_of, type_of

ARCHIVE = programs.ROOT / "tests" / "storage" / "sqlite" / "first_schema.tar.gz"
FINAL = ["SUCCEEDED", "FAILED", "QUARANTINED", "CANCELLED"]


@pytest.fixture
def old_directory(folder):
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder)
    return folder / "data"


def jobs_by_state(client):
    jobs = client.jobs()
    assert len(jobs) == 6
    return {state: [job for job in jobs if state_of(job) == state]
            for state in {state_of(job) for job in jobs}}


def schema_version(path):
    with sqlite3.connect(path) as database:
        return database.execute("PRAGMA user_version").fetchone()[0]


def assert_everything_is_there(client):
    """Waits for the two jobs that were not over, and looks at all six."""
    for job in client.jobs():
        client.wait_for_end(job.id)
    jobs = jobs_by_state(client)
    assert {state: len(found) for state, found in jobs.items()} == {
        "SUCCEEDED": 3, "FAILED": 1, "QUARANTINED": 1, "CANCELLED": 1}
    for job in client.jobs():
        _, events, last = client.watch(job.id)
        assert [event.sequence for event in events] == list(range(1, len(events) + 1))
        assert type_of(events[-1]) == state_of(last)
        assert sum(type_of(event) in FINAL for event in events) == 1
    attempts = [client.get(job.id).attempts for job in jobs["SUCCEEDED"]]
    assert sorted(len(found) for found in attempts) == [1, 1, 2]
    (interrupted,) = [found for found in attempts if len(found) == 2]
    assert [attempt.outcome for attempt in interrupted] == ["lost", "succeeded"]


def test_jobs_of_an_old_directory_go_on(new_daemon, old_directory):
    assert schema_version(old_directory / "jobs.db") == 1
    daemon = new_daemon().start()
    with daemon.client() as client:
        assert_everything_is_there(client)
        # The same request of then is the same job.
        queued = client.digest(models.small_model(width=24))
        known = {job.id for job in client.jobs()}
        assert client.submit(queued, request_id="queued-1", budget_seconds=3).id in known
        assert len(client.jobs()) == 6


def test_an_old_result_runs_without_its_plan(new_daemon, old_directory, folder, cli):
    daemon = new_daemon("--workers", "none").start()
    with daemon.client() as client:
        (job,) = jobs_by_state(client)["SUCCEEDED"]
        optimized = folder / "optimized.onnx"
        report = cli.run("result", job.id, "-o", optimized, "--server", daemon.address, "--json",
                         "--explain").expect(0).json
        assert report["id"] == job.id and report["optimized"]["origin"] is None
        assert optimized.read_bytes() == client.download(job.result.optimized_model)
    assert "plait.plan" in {entry.key for entry in onnx.load(optimized).metadata_props}
    original = folder / "original.onnx"
    original.write_bytes(models.small_model())
    models.assert_equal_in_onnx_runtime(original.read_bytes(), optimized.read_bytes())
    finished = cli.run("bench", original, optimized, "--json", "--budget", "1s").expect(0)
    assert "warning: " in finished.err and "the plan in the model is ignored" in finished.err
    assert [model["embedded_plan"] for model in finished.json["models"]] == [False, False]
    verified = cli.run("verify", original, optimized, "--json").expect(0).json
    assert verified["verdict"] == "equivalent"


def test_a_kill_at_any_moment_of_the_start_loses_nothing(new_daemon, old_directory):
    daemon = new_daemon()
    for milliseconds in range(0, 60, 3):
        with daemon.log.open("ab") as log:
            process = subprocess.Popen(daemon.command(), stdout=subprocess.DEVNULL, stderr=log,
                                       env=programs.environment())
        time.sleep(milliseconds / 1000)
        os.kill(process.pid, signal.SIGKILL)
        process.wait(30)
        assert schema_version(old_directory / "jobs.db") in (1, 2, 3)
    daemon.start()
    with daemon.client() as client:
        for job in client.jobs():
            client.wait_for_end(job.id)
        assert {state: len(found) for state, found in jobs_by_state(client).items()} == {
            "SUCCEEDED": 3, "FAILED": 1, "QUARANTINED": 1, "CANCELLED": 1}
