"""TLS: who has no certificate of ours gets no answer."""

import shutil
import subprocess

import grpc
import pytest

import programs
import rpc
from waiting import wait_until

pytestmark = pytest.mark.skipif(not shutil.which("openssl"), reason="needs openssl")


class Authority:
    """Makes keys and certificates in a folder."""

    def __init__(self, folder, name):
        self.folder = folder
        self.name = name
        self.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                     "-nodes", "-subj", f"/CN={name}", "-days", "2",
                     "-keyout", self.key(name), "-out", self.certificate(name))

    def key(self, name):
        return self.folder / f"{name}.key"

    def certificate(self, name):
        return self.folder / f"{name}.pem"

    def openssl(self, *words):
        subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)

    def sign(self, name):
        """Makes a key and a certificate for 127.0.0.1."""
        request, extension = self.folder / f"{name}.csr", self.folder / f"{name}.ext"
        extension.write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\n")
        self.openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                     "-subj", f"/CN={name}", "-keyout", self.key(name), "-out", request)
        self.openssl("x509", "-req", "-in", request, "-CA", self.certificate(self.name),
                     "-CAkey", self.key(self.name), "-CAcreateserial", "-days", "2",
                     "-extfile", extension, "-out", self.certificate(name))


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
    assert [device["id"] for device in devices] == ["cpu"]
    cli.run("devices", *server, "--json").expect(9)


def test_a_missing_key_file_is_refused_by_name(folder):
    finished = subprocess.run(
        [programs.program("plaitd"), "--data-dir", folder / "data", "--listen", "127.0.0.1:0",
         "--tls-cert", folder / "no.pem", "--tls-key", folder / "no.key"],
        env=programs.environment(), capture_output=True, text=True, timeout=60, check=False)
    assert finished.returncode == 2
    assert "no." in finished.stderr.strip().splitlines()[-1]


def test_a_worker_of_another_host_shows_its_certificate(secured):
    daemon, ours = secured
    daemon.wait_for_worker()
    command = [programs.program("plait-worker"), "--device", "cpu", "--id", "remote",
               "--server", daemon.address, "--tls-ca", ours.certificate("ours")]
    refused = subprocess.Popen([*map(str, command)], stderr=subprocess.DEVNULL)
    shown = ["--tls-cert", ours.certificate("client"), "--tls-key", ours.key("client")]
    served = subprocess.Popen([*map(str, command + shown)], stderr=subprocess.DEVNULL)
    try:
        with rpc.Client(daemon.address, credentials=credentials(ours, ours, "client")) as client:
            def workers():
                return [worker.worker_id for worker in client.call("GetServerState").workers]
            wait_until(lambda: "remote" in workers(), "the worker with a certificate is served")
            assert served.poll() is None and len(workers()) == 2
    finally:
        for worker in (refused, served):
            worker.kill()
            worker.wait()
