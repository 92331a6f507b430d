"""TLS: who has no certificate of ours gets no answer."""

import shutil
import subprocess

import grpc
import pytest

import models
import programs
import rpc
from authority import Authority
from waiting import wait_until

pytestmark = pytest.mark.skipif(not shutil.which("openssl"), reason="needs openssl")


@pytest.fixture
def secured(folder, new_daemon):
    ours = Authority(folder, "ours")
    ours.sign("server")
    ours.sign("client")
    daemon = new_daemon("--tls-cert", str(ours.certificate("server")),
                        "--tls-key", str(ours.key("server")),
                        "--tls-client-ca", str(ours.certificate("ours")), is_secure=True).start()
    return daemon, ours


def credentials(authority, signer, name):
    return grpc.ssl_channel_credentials(
        authority.certificate("ours").read_bytes(),
        signer.key(name).read_bytes() if signer else None,
        signer.certificate(name).read_bytes() if signer else None)


def version(daemon, channel_credentials):
    with rpc.Client(daemon.address, credentials=channel_credentials) as client:
        return client.call("GetCapabilities", seconds_max=10).version


def test_a_client_with_a_certificate_is_served(secured):
    daemon, ours = secured
    assert version(daemon, credentials(ours, ours, "client"))


def test_a_client_without_a_certificate_of_ours_is_not_served(secured, folder):
    daemon, ours = secured
    (folder / "theirs").mkdir()
    theirs = Authority(folder / "theirs", "theirs")
    for refused in (None, credentials(ours, None, ""), credentials(ours, theirs, "theirs")):
        with pytest.raises((grpc.RpcError, KeyError)):
            version(daemon, refused)


def test_the_cli_speaks_tls(secured, cli):
    daemon, ours = secured
    files = ["--tls-ca", ours.certificate("ours"), "--tls-cert", ours.certificate("client"),
             "--tls-key", ours.key("client")]
    daemon.wait_for_worker()
    server = ["--server", daemon.address]
    devices = cli.run("devices", *server, *files, "--json").expect(0).json["devices"]
    assert devices[0]["id"] == "cpu"
    cli.run("devices", *server, "--json").expect(9)


def test_a_missing_key_file_is_refused_by_name(folder):
    finished = subprocess.run(
        [programs.program("plaitd"), "--data-dir", folder / "data", "--listen", "127.0.0.1:0",
         "--tls-cert", folder / "no.pem", "--tls-key", folder / "no.key"],
        env=programs.environment(), capture_output=True, text=True, timeout=60, check=False)
    assert finished.returncode == 2
    assert "no." in finished.stderr.strip().splitlines()[-1]


def plait_worker(address, *words):
    return subprocess.Popen(
        [programs.program("plait-worker"), "--device", "cpu", "--server", address,
         *map(str, words)], stderr=subprocess.DEVNULL)


def worker_ids(client):
    return [worker.worker_id for worker in client.call("GetServerState").workers]


def test_a_worker_of_another_host_measures_for_a_job(folder, new_daemon):
    ours, workers = Authority(folder, "ours"), Authority(folder, "workers")
    ours.sign("server")
    ours.sign("client")
    workers.sign("worker")
    daemon = new_daemon(
        "--tls-cert", str(ours.certificate("server")), "--tls-key", str(ours.key("server")),
        "--tls-client-ca", str(ours.certificate("ours")), "--workers", "none",
        "--worker-listen", "127.0.0.1:0", "--tls-worker-ca", str(workers.certificate("workers")),
        is_secure=True).start()
    trust = ["--tls-ca", ours.certificate("ours")]
    as_worker = [*trust, "--tls-cert", workers.certificate("worker"),
                 "--tls-key", workers.key("worker")]
    as_client = [*trust, "--tls-cert", ours.certificate("client"), "--tls-key", ours.key("client")]
    started = [plait_worker(daemon.worker_address, *trust, "--id", "anonymous"),
               plait_worker(daemon.worker_address, *as_client, "--id", "client"),
               plait_worker(daemon.address, *as_client, "--id", "strayed"),
               plait_worker(daemon.worker_address, *as_worker, "--id", "worker")]
    try:
        with rpc.Client(daemon.address, credentials=credentials(ours, ours, "client")) as client:
            wait_until(lambda: worker_ids(client), "a worker is served")
            job = client.submit(client.upload(models.small_model()), search="none")
            assert rpc.state_of(client.wait_for_end(job.id)) == "SUCCEEDED"
            # A worker that is refused by the other server ends: it would be refused for ever.
            assert started[2].wait(30) == 9
            assert worker_ids(client) == ["worker"]
        # Nor is a worker a client.
        with pytest.raises((grpc.RpcError, KeyError)):
            version(daemon, credentials(ours, workers, "worker"))
    finally:
        for worker in started:
            worker.kill()
            worker.wait()


def test_without_certificates_of_clients_nobody_is_an_operator(folder, new_daemon):
    ours = Authority(folder, "ours")
    ours.sign("server")
    daemon = new_daemon("--tls-cert", str(ours.certificate("server")),
                        "--tls-key", str(ours.key("server")), is_secure=True,
                        listen="0.0.0.0:0").start()
    port = daemon.address.rpartition(":")[2]
    anonymous = credentials(ours, None, "")
    with rpc.Client(f"127.0.0.1:{port}", credentials=anonymous) as client:
        assert client.call("GetCapabilities").version
        for method in ("DrainServer", "GetServerState", "ListProfiles"):
            with pytest.raises(grpc.RpcError) as refused:
                client.call(method)
            assert client.reason(refused.value) == "PERMISSION_DENIED"
            assert "operators" in refused.value.details()
