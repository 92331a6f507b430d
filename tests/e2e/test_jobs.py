"""Jobs in every state: cancelled, watched, continued after a restart, refused while draining."""

import time

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

import models
import processes
from rpc import state_of, type_of
from waiting import wait_until

LONG_JOB = {"budget_seconds": 120, "no_result_cache": True}


@pytest.fixture
def daemon(new_daemon):
    daemon = new_daemon().start()
    daemon.wait_for_worker()
    return daemon


@pytest.fixture
def client(daemon):
    with daemon.client() as client:
        yield client


def long_job(client):
    return client.submit(client.upload(models.slow_model()), **LONG_JOB).id


def assert_ended_once(client, job_id, state):
    _, events, last = client.watch(job_id)
    assert state_of(last) == state
    assert [event.sequence for event in events] == list(range(1, len(events) + 1))
    finals = [type_of(event) for event in events
              if type_of(event) in ("SUCCEEDED", "FAILED", "CANCELLED", "QUARANTINED")]
    assert finals == [state] and type_of(events[-1]) == state


def test_a_running_and_a_queued_job_are_cancelled(daemon, client):
    running = long_job(client)
    client.wait_for(running, {"RUNNING"})
    queued = client.submit(client.upload(models.small_model())).id
    assert state_of(client.cancel(queued)) == "CANCELLED"
    assert client.get(queued).attempts == []
    client.cancel(running)
    assert state_of(client.wait_for_end(running)) == "CANCELLED"
    wait_until(lambda: not processes.search_children(daemon.pid), "the search child is gone")
    for job_id in (queued, running):
        assert state_of(client.cancel(job_id)) == "CANCELLED"
        assert_ended_once(client, job_id, "CANCELLED")
    (attempt,) = client.get(running).attempts
    assert attempt.outcome == "cancelled"


def cancel_while_measuring(client, count):
    """Cancels jobs at their worker's task; the job after each of them must not notice."""
    next_model = client.upload(models.small_model())
    for number in range(count):
        cancelled = long_job(client)
        wait_until(client.running_task, "a task runs")
        # Later each time: some are cancelled while kernels are profiled, some in a verification.
        time.sleep(number % 10 * 0.4)
        after = client.submit(next_model, search="none", no_result_cache=True).id
        client.cancel(cancelled)
        job = client.wait_for_end(after)
        assert state_of(job) == "SUCCEEDED", job.error.message
        assert state_of(client.wait_for_end(cancelled)) == "CANCELLED"


def test_a_cancelled_job_costs_no_other_job(client):
    cancel_while_measuring(client, 3)


@pytest.mark.long
def test_a_hundred_cancelled_jobs_cost_no_other_job(client):
    cancel_while_measuring(client, 100)


def test_cancelling_a_finished_job_changes_nothing(client):
    job_id = client.submit(client.upload(models.small_model()), search="none").id
    assert state_of(client.wait_for_end(job_id)) == "SUCCEEDED"
    assert state_of(client.cancel(job_id)) == "SUCCEEDED"
    assert_ended_once(client, job_id, "SUCCEEDED")


def test_watching_again_continues_after_the_last_event(client):
    job_id = client.submit(client.upload(models.small_model()), search="none").id
    _, events, _ = client.watch(job_id)
    for after in (1, len(events) - 1, len(events)):
        first, rest, last = client.watch(job_id, after)
        assert rest == events[after:] and first == last


PHASES = ["import", "baseline", "canonicalize", "schedule", "search", "schedule", "verify",
          "export"]


def test_a_job_tells_how_far_it_is(client):
    # Its verification takes seconds on any machine: progress is told once a second.
    digest = client.upload(models.slow_model(layers=3))
    _, events, last = client.watch(client.submit(digest, budget_seconds=30).id)
    assert state_of(last) == "SUCCEEDED"
    assert [event.text for event in events if type_of(event) == "PHASE"] == PHASES
    moving = [event for event in events if type_of(event) in ("PHASE", "PROGRESS")]
    fractions = [event.fraction for event in moving]
    assert fractions == sorted(fractions) and fractions[-1] <= 1
    verify = next(i for i, event in enumerate(moving) if event.text == "verify")
    # It goes on within the verification, up to the export.
    assert len(set(fractions[verify:])) >= 4, fractions[verify:]
    assert all(0 <= event.seconds_left <= 31 for event in moving)
    assert moving[0].seconds_left > 26
    assert last.progress.phase == "export"


def test_a_job_tells_what_it_has_found(client):
    digest = client.upload(models.light_model("tiny_inception"))
    _, events, last = client.watch(client.submit(digest, budget_seconds=20).id)
    assert state_of(last) == "SUCCEEDED"
    predicted = [event.speedup for event in events if type_of(event) == "INCUMBENT"]
    assert predicted and predicted == sorted(predicted)
    measured = [event.speedup for event in events if type_of(event) == "MEASURED"]
    assert measured and all(speedup > 0 for speedup in measured)
    assert last.progress.speedup == measured[-1]
    assert last.progress.speedup_predicted == predicted[-1]


def test_a_running_job_is_continued_after_a_restart(daemon, client):
    digest = client.upload(models.light_model("tiny_inception"))
    job_id = client.submit(digest, budget_seconds=5).id
    wait_until(lambda: processes.search_children(daemon.pid), "the search runs")
    assert daemon.stop() == 0
    daemon.start()
    with daemon.client() as again:
        job = again.wait_for_end(job_id)
        assert state_of(job) == "SUCCEEDED", job.error.message
        answer = again.get(job_id)
        assert answer.job.faults == 0
        assert len(answer.attempts) == answer.job.attempts >= 2
        assert [a.outcome for a in answer.attempts].count("succeeded") == 1
        assert_ended_once(again, job_id, "SUCCEEDED")


def test_a_draining_daemon_takes_no_jobs_and_ends(daemon, client):
    digest = client.upload(models.small_model())
    running = long_job(client)
    client.wait_for(running, {"RUNNING"})
    client.call("DrainServer")
    with pytest.raises(grpc.RpcError) as refused:
        client.submit(digest)
    assert refused.value.code() == grpc.StatusCode.UNAVAILABLE
    assert client.reason(refused.value) == "DRAINING"
    assert daemon.get("/readyz")[0] == 503
    health = health_pb2_grpc.HealthStub(client.channel)
    wait_until(lambda: health.Check(health_pb2.HealthCheckRequest(), timeout=10).status
               == health_pb2.HealthCheckResponse.NOT_SERVING, "health says that it drains")
    client.cancel(running)
    assert daemon.process.wait(60) == 0


def test_a_search_child_that_dies_three_times_is_quarantined(daemon, client):
    job_id = long_job(client)
    killed = set()

    def kill_search_child():
        for pid in set(processes.search_children(daemon.pid)) - killed:
            killed.add(pid)
            processes.kill(pid)
        return state_of(client.get(job_id).job) == "QUARANTINED"

    wait_until(kill_search_child, "the job is quarantined")
    answer = client.get(job_id)
    assert answer.job.faults == 3 and len(killed) == 3
    assert [attempt.outcome for attempt in answer.attempts] == ["fault"] * 3
    assert all("9" in a.evidence or "ill" in a.evidence for a in answer.attempts)
    assert_ended_once(client, job_id, "QUARANTINED")
    assert daemon.metric("plait_search_child_crashes_total", reason="crash") == 3
    # The daemon is none the worse for it.
    job = client.submit(client.upload(models.small_model()), search="none")
    assert state_of(client.wait_for_end(job.id)) == "SUCCEEDED"


def test_equal_jobs_that_come_together_share_one_search(new_daemon):
    daemon = new_daemon("--jobs-running-max", "3").start()
    daemon.wait_for_worker()
    with daemon.client() as client:
        digest = client.upload(models.light_model("demo"))
        first = client.submit(digest, budget_seconds=10).id
        client.wait_for(first, {"RUNNING"})
        second, third = (client.submit(digest, budget_seconds=10).id for _ in range(2))
        # Neither takes a runner from others while it waits.
        assert [state_of(client.get(job_id).job) for job_id in (second, third)] == ["QUEUED"] * 2
        other = client.submit(client.upload(models.small_model()), search="none").id
        assert state_of(client.wait_for_end(other)) == "SUCCEEDED"
        client.cancel(third)
        assert state_of(client.wait_for_end(third, 30)) == "CANCELLED"
        assert state_of(client.get(first).job) == "RUNNING"
        reports = [client.wait_for_end(job_id).result.report for job_id in (first, second)]
        assert [report.cached for report in reports] == [False, True]
