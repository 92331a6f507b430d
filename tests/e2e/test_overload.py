"""What one client, or the other end of a connection, can take from everybody else: nothing."""

import contextlib
import os
import signal
import socket
import subprocess
import threading
import time

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

import models
from rpc import CALL_SECONDS_MAX
from waiting import wait_until

# What proto/wire/keepalive.h promises, and the time to look.
SILENCE_SECONDS_MAX = 30 + 10
ANSWER_SECONDS_MAX = 1


@contextlib.contextmanager
def slow_relay(address, seconds):
    """An address that leads to another one; its answers begin so much later."""
    listener = socket.create_server(("127.0.0.1", 0))

    def pump(source, target, pause):
        with contextlib.suppress(OSError):
            time.sleep(pause)
            while data := source.recv(1 << 16):
                target.sendall(data)

    def accept():
        with contextlib.suppress(OSError):
            while True:
                near, _ = listener.accept()
                host, _, port = address.rpartition(":")
                far = socket.create_connection((host, int(port)))
                for ends in ((near, far, 0), (far, near, seconds)):
                    threading.Thread(target=pump, args=ends, daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    yield f"127.0.0.1:{listener.getsockname()[1]}"
    listener.close()


def test_a_server_that_is_slow_to_answer_is_waited_for(new_idle_daemon, cli):
    daemon = new_idle_daemon()
    with slow_relay(daemon.address, 1) as address:
        cli.run("devices", "--server", address, "--json").expect(0)


def queued_job(client):
    """A job that nobody runs: its watchers wait for as long as they like."""
    return client.submit(client.upload(models.small_model()), search="none").id


@pytest.fixture
def new_idle_daemon(new_daemon):
    """Makes daemons whose worker never comes."""
    return lambda *words: new_daemon("--worker-program", "/bin/false", *words).start()


def watch(client, job_id):
    """Opens a stream and returns it once the server has answered."""
    stream = client.call("WatchJob", client.message("WatchJobRequest", job_id=job_id),
                         CALL_SECONDS_MAX)
    next(stream)
    return stream


@contextlib.contextmanager
def watching(cli, daemon, job_id):
    """A `plait watch` whose stream the daemon has opened."""
    watcher = cli.start("watch", job_id, "--server", daemon.address,
                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: daemon.metric("plait_streams") == 1, "it watches", 10)
        yield watcher
    finally:
        watcher.kill()
        watcher.wait()


def test_streams_are_bounded_and_nothing_else_stops(new_idle_daemon):
    daemon = new_idle_daemon("--streams-max", "6", "--tenant-streams-max", "4")
    with daemon.client() as ours, daemon.client("others") as theirs:
        ours_id, theirs_id = queued_job(ours), queued_job(theirs)
        streams = [watch(ours, ours_id) for _ in range(4)]
        with pytest.raises(grpc.RpcError) as refused:
            watch(ours, ours_id)
        assert refused.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
        assert ours.reason(refused.value) == "QUOTA_EXCEEDED"
        assert "tenant default" in refused.value.details()
        streams += [watch(theirs, theirs_id) for _ in range(2)]
        with pytest.raises(grpc.RpcError) as refused:
            watch(theirs, theirs_id)
        assert "the server has 6" in refused.value.details()
        assert ours.get(ours_id).job.id == ours_id
        health = health_pb2_grpc.HealthStub(ours.channel)
        assert health.Check(health_pb2.HealthCheckRequest(), timeout=ANSWER_SECONDS_MAX).status \
            == health_pb2.HealthCheckResponse.SERVING
        wait_until(lambda: daemon.metric("plait_streams") == 6, "the streams are counted", 10)
        for stream in streams:
            stream.cancel()
        wait_until(lambda: daemon.metric("plait_streams") == 0, "all streams are closed", 10)
        watch(ours, ours_id).cancel()


def test_health_answers_while_the_readers_of_metrics_take_all_threads(new_idle_daemon):
    daemon = new_idle_daemon("--health-listen", "127.0.0.1:0")
    host, _, port = daemon.metrics_address.rpartition(":")
    with contextlib.ExitStack() as silent:
        for _ in range(40):
            silent.enter_context(socket.create_connection((host, int(port))))
        for _ in range(5):
            began = time.monotonic()
            assert daemon.get("/livez", daemon.health_address)[0] == 200
            code, reason = daemon.get("/readyz", daemon.health_address)
            assert (code, reason) == (503, "no worker is connected\n")
            assert time.monotonic() - began < ANSWER_SECONDS_MAX
        assert daemon.get("/metrics", daemon.health_address)[0] == 404


@pytest.mark.long  # waits for a connection to be given up
def test_a_client_that_is_gone_without_a_word_is_noticed(new_idle_daemon, cli):
    daemon = new_idle_daemon()
    with daemon.client() as client, watching(cli, daemon, queued_job(client)) as watcher:
        # Its host still answers for it, but it does not.
        os.kill(watcher.pid, signal.SIGSTOP)
        wait_until(lambda: daemon.metric("plait_streams") == 0, "its stream is closed",
                   SILENCE_SECONDS_MAX)


@pytest.mark.long  # waits for a connection to be given up
def test_a_server_that_is_gone_without_a_word_is_noticed(new_idle_daemon, cli):
    daemon = new_idle_daemon()
    with daemon.client() as client, watching(cli, daemon, queued_job(client)) as watcher:
        os.kill(daemon.pid, signal.SIGSTOP)
        time.sleep(SILENCE_SECONDS_MAX)
        os.kill(daemon.pid, signal.SIGCONT)
        # Its old stream is over: it has left it and watches again.
        wait_until(lambda: daemon.metric("plait_rpcs_total", method="WatchJob") >= 1
                   and daemon.metric("plait_streams") == 1, "it watches again", 20)
        assert watcher.poll() is None


@pytest.mark.long
def test_a_watcher_that_waits_for_long_is_left_alone(new_idle_daemon, cli):
    daemon = new_idle_daemon()
    with daemon.client() as client:
        job_id = queued_job(client)
        with watching(cli, daemon, job_id) as watcher:
            # Three pings from either side: none is taken for an attack.
            time.sleep(65)
            assert watcher.poll() is None
            assert daemon.metric("plait_rpcs_total", method="WatchJob") == 0
            client.cancel(job_id)
            watcher.wait(30)
            assert daemon.metric("plait_rpcs_total", method="WatchJob", code="OK") == 1
