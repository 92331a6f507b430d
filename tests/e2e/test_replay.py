"""A job is decided again from its measurement log: the same bytes, on any number of threads."""

import pytest

import models
from rpc import job_reason, state_of

# Less than the search wants, so that the log says where the budget ran out.
SHORT_BUDGET_SECONDS = 1.0


def tasks(daemon):
    return daemon.metric("plait_tasks_total")


def decide(daemon, name, budget_seconds):
    """Runs a job to its end; returns (id, optimized model)."""
    with daemon.client() as client:
        job_id = client.submit(client.upload(models.light_model(name)),
                               budget_seconds=budget_seconds).id
        job = client.wait_for_end(job_id)
        assert state_of(job) == "SUCCEEDED", job.error.message
        if budget_seconds > SHORT_BUDGET_SECONDS:
            assert job.result.report.search.candidates_measured > 0
        return job_id, client.download(job.result.optimized_model)


@pytest.mark.parametrize("name, budget_seconds", [
    ("tiny_inception", 20.0), ("tiny_nasnet", SHORT_BUDGET_SECONDS), ("tiny_bert", 20.0)])
def test_replaying_a_job_gives_the_same_bytes_on_one_and_two_threads(
        new_daemon, cli, folder, name, budget_seconds):
    daemon = new_daemon().start()
    daemon.wait_for_worker()
    job_id, optimized = decide(daemon, name, budget_seconds)
    for threads in (1, 2):
        assert daemon.stop() == 0
        daemon.arguments = ("--search-threads", str(threads))
        daemon.start()
        daemon.wait_for_worker()
        output = folder / f"again_{threads}.onnx"
        cli.run("replay", job_id, "-o", output, "--server", daemon.address).expect(0)
        assert output.read_bytes() == optimized
        assert tasks(daemon) == 0, "a replay measures nothing"


def test_a_log_of_another_model_is_refused(shared_daemon, client):
    job_id, _ = decide(shared_daemon, "tiny_bert", 20.0)
    log = client.get(job_id).job.result.measurement_log
    other = client.upload(models.light_model("tiny_inception"))
    job = client.wait_for_end(client.submit(other, measurement_log=log).id)
    assert (state_of(job), job_reason(job)) == ("FAILED", "INVALID_REQUEST")
    assert "replay it with the model, options and build that wrote it" in job.error.message


def test_a_log_that_is_no_log_fails_the_job_and_not_the_daemon(shared_daemon, client):
    model = client.upload(models.light_model("tiny_bert"))
    for data in (b"\x00\xff" * 1000, b"profile\n", b""):
        log = client.upload(data)
        job = client.wait_for_end(client.submit(model, measurement_log=log).id)
        assert (state_of(job), job_reason(job)) == ("FAILED", "INVALID_REQUEST"), data[:10]
    assert shared_daemon.is_alive()


def test_a_job_without_a_log_cannot_be_replayed(shared_daemon, client, cli, model_file):
    job_id = client.submit(client.upload(b"this is no model")).id
    assert state_of(client.wait_for_end(job_id)) == "FAILED"
    finished = cli.run("replay", job_id, "--server", shared_daemon.address)
    assert finished.code != 0
    assert "has no measurement log" in finished.last_error_line
