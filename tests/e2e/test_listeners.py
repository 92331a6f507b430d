"""Which server takes what from whom: roles, sizes, compression."""

import grpc
import pytest

from processes import memory_peak_bytes
from rpc import CALL_SECONDS_MAX, with_length

MIB = 1 << 20
CLIENT_MESSAGE_BYTES_MAX = 4 * MIB
WORKER_MESSAGE_BYTES_MAX = 16 * MIB
DAEMON_BYTES_MAX = 512 * MIB


@pytest.fixture
def daemon(new_daemon):
    """A daemon of the test's own, because its memory is looked at."""
    return new_daemon("--workers", "none").start()


def call_with_bytes(client, name, request, compression=None):
    """Calls an RPC with a message as bytes, well-formed or not."""
    method = client.method(name)
    call = client.channel.unary_unary(f"/{method.containing_service.full_name}/{name}")
    return call(request, timeout=CALL_SECONDS_MAX, compression=compression,
                metadata=client.metadata)


def unknown_field(size):
    """A message with one field of `size` bytes that nobody knows, number 2000."""
    return with_length(b"\x82\x7d", b"x" * size)


@pytest.mark.parametrize("tenant", ["default", "plait-worker"])
def test_a_client_cannot_register_as_a_worker(daemon, tenant):
    with daemon.client(tenant) as client:
        request = client.request_of("Synchronize")
        request.worker_id = "w1"
        request.device.id = request.device.backend = "cpu"
        request.device.fingerprint = "of-a-stranger"
        request.device.cores = 2
        request.idle.SetInParent()
        with pytest.raises(grpc.RpcError) as refused:
            client.call("Synchronize", request)
        assert refused.value.code() == grpc.StatusCode.PERMISSION_DENIED
        assert client.reason(refused.value) == "PERMISSION_DENIED"
        assert not client.call("GetServerState").workers
        assert not client.call("ListDevices").devices


@pytest.mark.parametrize("name", ["OptimizeModel", "ListJobs", "FindMissingBlobs",
                                  "GetServerState", "DrainServer", "ListProfiles"])
def test_a_worker_is_neither_client_nor_operator(daemon, name):
    with daemon.worker_client() as worker:
        with pytest.raises(grpc.RpcError) as refused:
            worker.call(name)
        assert refused.value.code() == grpc.StatusCode.PERMISSION_DENIED
        assert worker.reason(refused.value) == "PERMISSION_DENIED"
    assert daemon.get("/livez")[0] == 200 and daemon.is_alive()


def test_a_worker_reads_no_blob_that_no_task_names(daemon):
    with daemon.client() as client, daemon.worker_client() as worker:
        digest = client.upload(b"somebody's model")
        request = client.message("DownloadBlobRequest", digest=digest)
        with pytest.raises(grpc.RpcError) as refused:
            list(worker.call("DownloadBlob", request))
        assert worker.reason(refused.value) == "NOT_FOUND"


def test_a_message_of_five_mebibytes_is_for_workers_only(daemon):
    too_large = unknown_field(5 * MIB)
    with daemon.client() as client, daemon.worker_client() as worker:
        with pytest.raises(grpc.RpcError) as refused:
            call_with_bytes(client, "ListJobs", too_large)
        assert refused.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
        assert str(CLIENT_MESSAGE_BYTES_MAX) in refused.value.details()
        # Read as a whole, and refused for what it says or does not say.
        with pytest.raises(grpc.RpcError) as refused:
            call_with_bytes(client, "ListJobs", unknown_field(3 * MIB))
        assert refused.value.code() == grpc.StatusCode.INVALID_ARGUMENT
        with pytest.raises(grpc.RpcError) as refused:
            call_with_bytes(worker, "Synchronize", too_large)
        assert refused.value.code() == grpc.StatusCode.INVALID_ARGUMENT
        with pytest.raises(grpc.RpcError) as refused:
            call_with_bytes(worker, "Synchronize", unknown_field(17 * MIB))
        assert refused.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
        assert str(WORKER_MESSAGE_BYTES_MAX) in refused.value.details()


@pytest.mark.parametrize("algorithm", ["Gzip", "Deflate"])
@pytest.mark.parametrize("role", ["client", "worker"])
def test_a_compressed_bomb_is_refused_and_never_inflated(daemon, algorithm, role):
    # 16 million empty digests, a thousandth of that when they are compressed.
    bomb = b"\x0a\x00" * (16 * MIB)
    with daemon.client() if role == "client" else daemon.worker_client() as caller:
        for _ in range(4):
            with pytest.raises(grpc.RpcError) as refused:
                call_with_bytes(caller, "FindMissingBlobs", bomb,
                                getattr(grpc.Compression, algorithm))
            assert refused.value.code() == grpc.StatusCode.UNIMPLEMENTED
            assert "is disabled" in refused.value.details()
    assert memory_peak_bytes(daemon.pid) < DAEMON_BYTES_MAX
    with daemon.client() as client:
        assert client.call("GetCapabilities").version
