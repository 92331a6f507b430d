"""plait.Client against the wheel's own daemon and worker, and the code of the guide."""

import json
import re
import shutil
import socket
import subprocess
import sys

import pytest
from wheels import ROOT, Environment, programs

from test_tls import Authority
from waiting import wait_until


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory):
    """With what `plait[client]` brings, at its newest."""
    made = Environment(tmp_path_factory.mktemp("client"))
    made.install(f"{wheel}[client]")
    return made


class Server:
    """The wheel's plaitd, on the address that it has chosen or was given. Use as a context manager:
    it ends with the block."""

    def __init__(self, environment, folder, *options, listen="127.0.0.1:0"):
        command = [environment.program("plaitd"), "--data-dir", folder, "--listen", listen,
                   "--metrics-listen", "127.0.0.1:0", *(options or ["--insecure"])]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, env=environment.variables)
        self.address = json.loads(self.process.stdout.readline())["address"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


@pytest.fixture(scope="module")
def server(environment, tmp_path_factory):
    with Server(environment, tmp_path_factory.mktemp("data")) as made:
        listing = [environment.program("plait"), "devices", "--server", made.address, "--json"]
        wait_until(lambda: json.loads(subprocess.check_output(
            listing, env=environment.variables))["devices"], "a worker connects")
        yield made


JOB = """
import hashlib
import sys
import numpy as np
import plait

address, model, output = sys.argv[1:]
with plait.Client(address, tenant="wheel") as client, plait.Client(address) as other:
    device, *described = client.devices()
    assert all(each.predicted for each in described)
    assert device.id == "cpu" and device.workers == 1 and device.cores >= 1
    assert not device.runtime_version
    capabilities = client.capabilities()
    assert capabilities.version == plait.__version__ and "plait" in capabilities.search_policies
    assert capabilities.budget_seconds_max > 60 and not capabilities.warnings

    array = np.random.default_rng(1).standard_normal((1, 3, 32, 32)).astype(np.float32)
    job = client.submit(model, budget=5, seed=7, inputs=[{"input": array}], request_id="one")
    assert client.submit(model, budget=5, seed=7, inputs=[{"input": array}],
                         request_id="one").id == job.id
    assert job.submitted_at.tzinfo and job.device == "cpu"
    with open(model, "rb") as file:
        assert job.model == hashlib.sha256(file.read()).hexdigest()
    events = list(client.watch(job.id))
    assert [event.sequence for event in events] == list(range(1, len(events) + 1))
    assert (events[0].type, events[-1].type) == ("QUEUED", "SUCCEEDED")
    assert list(client.watch(job.id, events[-2].sequence)) == events[-1:]
    assert client.wait(job.id) == client.get(job.id) and client.get(job.id).is_over

    result = client.result(job.id, output)
    with open(output, "rb") as file:
        assert hashlib.sha256(file.read()).hexdigest() == result.output.digest
    assert result.id == job.id and result.output.path == output and result.speedup >= 1
    assert result.equivalence.inputs_tried >= 2 or result.optimized.origin == "baseline"
    session = plait.InferenceSession(output)
    assert session.run(None, {"input": array})[0].size

    waiting = client.submit(model, budget=600, result_cache=False)
    assert client.cancel(waiting.id).id == waiting.id
    assert client.wait(waiting.id).state == "CANCELLED"
    assert [job.id for job in client.jobs()] == [waiting.id, job.id]
    assert [job.id for job in client.jobs(limit=1)] == [waiting.id]
    assert [job.id for job in client.jobs("state = SUCCEEDED")] == [job.id]
    assert not list(other.jobs())
    rejected = client.submit(b"no model")
    for call in [
        lambda: client.result(waiting.id), lambda: client.result(rejected.id, output + ".no"),
        lambda: other.get(job.id), lambda: client.submit(model, search="all"),
        lambda: client.submit(model, budget=6, request_id="one"),
        lambda: client.submit(model, device="cuda:3"), lambda: list(client.jobs("colour = red")),
        lambda: client.submit(model, colour="red"),
        lambda: list(client.watch("none")),
    ]:
        try:
            call()
        except (plait.Error, TypeError) as error:
            print(type(error).__name__, getattr(error, "reason", ""))
            unavailable = isinstance(error, plait.DeviceUnavailableError)
            assert unavailable == (getattr(error, "retry_seconds", None) is not None), error
    client.delete(waiting.id)
    try:
        client.get(waiting.id)
    except plait.NotFoundError as error:
        print("deleted")
"""


def test_a_job_from_beginning_to_end(environment, server, model, tmp_path):
    out = environment.python(JOB, server.address, model, tmp_path / "out.onnx")
    assert out.splitlines() == [
        "CancelledError CANCELLED", "ModelRejectedError MODEL_REJECTED",
        "NotFoundError NOT_FOUND", "InvalidRequestError INVALID_REQUEST",
        "InvalidRequestError REQUEST_ID_REUSED", "DeviceUnavailableError DEVICE_UNAVAILABLE",
        "InvalidRequestError INVALID_REQUEST", "TypeError ", "NotFoundError NOT_FOUND", "deleted"]
    assert not (tmp_path / "out.onnx.no").exists()


WATCH = """
import sys
import plait

with plait.Client(sys.argv[1], patience=60) as client:
    job = client.submit(sys.argv[2], budget=8, result_cache=False)
    for event in client.watch(job.id):
        print(event.sequence, event.type, flush=True)
"""


def test_a_watch_goes_on_when_the_daemon_was_killed(environment, model, tmp_path):
    lines = []
    with Server(environment, tmp_path / "data") as server:
        watch = subprocess.Popen(
            [environment.program("python"), "-c", WATCH, server.address, model], text=True,
            stdout=subprocess.PIPE, env=environment.variables)
        for line in watch.stdout:
            lines.append(line.split())
            if line.endswith("PHASE\n"):
                break
    with watch, Server(environment, tmp_path / "data", listen=server.address):
        lines += [line.split() for line in watch.communicate(timeout=programs.RUN_SECONDS_MAX)[0]
                  .splitlines()]
    assert watch.returncode == 0
    assert [int(number) for number, _ in lines] == list(range(1, len(lines) + 1))
    assert [kind for _, kind in lines].count("STARTED") == 2 and lines[-1][1] == "SUCCEEDED"


TOGETHER = """
import sys
import threading
import plait

outcomes = []

def upload(data=bytes(64 << 20)):
    with plait.Client(sys.argv[1], patience=60) as client:
        try:
            client._upload(data)
            outcomes.append("there")
        except plait.Error as error:
            outcomes.append(error)

threads = [threading.Thread(target=upload) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
for outcome in outcomes:
    print(outcome)
"""


def test_clients_may_upload_the_same_bytes_at_once(environment, server):
    out = environment.python(TOGETHER, server.address)
    assert out.splitlines() == ["there", "there", "there"]


SECURE = """
import sys
import plait

address, folder = sys.argv[1:]
ca, cert, key = (f"{folder}/{name}" for name in ("ours.pem", "client.pem", "client.key"))
for tls in [plait.Tls(ca, cert, key), plait.Tls(ca), None]:
    with plait.Client(address, tls=tls, patience=0.5) as client:
        try:
            print(len(client.devices()))
        except plait.UnreachableError:
            print("nobody")
"""


@pytest.mark.skipif(not shutil.which("openssl"), reason="needs openssl")
def test_certificates_are_shown_and_checked(environment, tmp_path):
    ours = Authority(tmp_path, "ours")
    for name in ("server", "client"):
        ours.sign(name)
    options = ["--workers", "none", "--tls-cert", ours.certificate("server"),
               "--tls-key", ours.key("server"), "--tls-client-ca", ours.certificate("ours")]
    with Server(environment, tmp_path / "data", *options) as server:
        out = environment.python(SECURE, server.address, tmp_path)
    assert out.splitlines() == ["0", "nobody", "nobody"]


REFUSED = """
import plait

for words in [dict(address="nowhere"), dict(address="127.0.0.1:1", insecure=True, tls=plait.Tls()),
              dict(address="10.0.0.1:1", tls=plait.Tls(cert="x.pem"))]:
    try:
        plait.Client(**words)
    except ValueError as error:
        print(error)
with plait.Client("127.0.0.1:1", patience=0.5) as client:
    try:
        client.devices()
    except plait.UnreachableError as error:
        print(error.reason)
"""


def test_a_proxy_is_not_asked_for_this_machine(environment, server):
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        proxy.setblocking(False)
        own = environment.variables.items()
        variables = {name: value for name, value in own if name.lower() != "no_proxy"}
        variables["http_proxy"] = f"http://127.0.0.1:{proxy.getsockname()[1]}"
        code = "import sys, plait; print(len(plait.Client(sys.argv[1]).devices()) > 0)"
        listed = subprocess.run([environment.program("python"), "-c", code, server.address],
                                env=variables, text=True, capture_output=True, check=True)
        assert listed.stdout == "True\n"
        with pytest.raises(BlockingIOError):
            proxy.accept()


def test_what_makes_no_sense_is_refused(environment):
    out = environment.python(REFUSED).splitlines()
    assert [line.partition(":")[0] for line in out] == ["address", "insecure", "tls",
                                                       "UNREACHABLE"]


STUBS = """
import sys
sys.path.insert(0, sys.argv[1])
from google.protobuf import descriptor_pb2, descriptor_pool

# A program's own file of the same name, and other content.
file = descriptor_pb2.FileDescriptorProto(name="plait/v1/blob.proto", package="plait.v1")
file.message_type.add(name="Digest").field.add(name="other", number=1, type=9, label=1)
descriptor_pool.Default().AddSerializedFile(file.SerializeToString())
import plait
print(plait.Client(sys.argv[1]).devices()[0].id)
"""


def test_it_shares_a_process_with_other_stubs(environment, server):
    assert environment.python(STUBS, server.address) == "cpu\n"


def test_without_grpcio_it_says_what_to_install(bare):
    code = ("import plait\n"
            "try:\n    plait.Client('127.0.0.1:1')\n"
            "except ImportError as error:\n    print(error)")
    assert "pip install 'plait[client]'" in bare.python(code)


@pytest.mark.long
@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="old wheels are for one Python each")
def test_the_oldest_versions_that_it_asks_for_will_do(wheel, server, model, tmp_path):
    old = Environment(tmp_path / "old")
    old.install(wheel, "grpcio==1.51.1", "protobuf==4.25.0", "numpy==1.23.5")
    assert old.python(JOB, server.address, model, tmp_path / "out.onnx").endswith("deleted\n")


def test_the_code_of_the_guide_runs(environment, server, model, tmp_path):
    """Block after block in one program, as somebody would type it."""
    text = (ROOT / "docs/python.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 4
    (tmp_path / "model.onnx").write_bytes(model.read_bytes())
    program = "\n".join(blocks).replace("127.0.0.1:7400", server.address)
    # A minute for a model of 30 nodes is more than it needs.
    program = program.replace("budget=60", "budget=5")
    out = environment.run("python", "-c", program, cwd=tmp_path)
    assert "times as fast" in out and "the plan in the model is used" in out
    assert "SUCCEEDED" in out and (tmp_path / "model.opt.onnx").exists()
