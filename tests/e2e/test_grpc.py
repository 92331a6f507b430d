"""The service as a stranger sees it: reflection, health, blobs, errors."""

import grpc
import onnx
import pytest
from google.rpc import error_details_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc

import models
from rpc import error_detail, field_violations, job_reason, state_of, type_of


def test_reflection_lists_every_service(client):
    assert set(client.database.get_services()) >= {
        "plait.v1.OptimizationService", "plait.v1.BlobService", "plait.v1.CapabilityService",
        "plait.v1.ProfileService", "plait.admin.v1.AdminService",
        "plait.worker.v1.WorkerService",
        "grpc.health.v1.Health", "grpc.reflection.v1alpha.ServerReflection"}
    assert client.pool.FindMessageTypeByName("grpc.health.v1.HealthCheckRequest")


def test_health_is_serving(client):
    stub = health_pb2_grpc.HealthStub(client.channel)
    answer = stub.Check(health_pb2.HealthCheckRequest(), timeout=10)
    assert answer.status == health_pb2.HealthCheckResponse.SERVING


def test_optimizes_through_reflection_alone(client):
    original = models.light_model("tiny_resnet")
    job = client.submit(client.upload(original, 64 * 1024), budget_seconds=5)
    assert state_of(job) == "QUEUED" and job.id
    first, events, last = client.watch(job.id)
    assert first.id == last.id == job.id
    assert state_of(last) == "SUCCEEDED", last.error.message
    assert [event.sequence for event in events] == list(range(1, len(events) + 1))
    assert type_of(events[0]) == "QUEUED" and type_of(events[-1]) == "SUCCEEDED"
    report = last.result.report
    assert report.speedup >= 1.0 and report.id == job.id
    assert not report.device.predicted
    optimized = client.download(last.result.optimized_model)
    assert client.digest(optimized) == last.result.optimized_model
    models.assert_equal_in_onnx_runtime(original, optimized)
    for artifact in ("plan", "measurement_log"):
        digest = getattr(last.result, artifact)
        assert client.digest(client.download(digest)) == digest, artifact


def test_upload_resumes_where_it_broke(client):
    data = models.small_model(width=300)
    digest = client.digest(data)
    half = len(data) // 2 // 1000 * 1000
    with pytest.raises(grpc.RpcError):
        client.call("UploadBlob", client.chunks(digest, data[:half], chunk_bytes=1000))
    (missing,) = client.missing(digest)
    assert 0 <= missing.offset_bytes <= half
    client.call("UploadBlob", client.chunks(digest, data, missing.offset_bytes))
    assert client.missing(digest) == []
    assert client.download(digest) == data
    assert client.download(digest, len(data) - 7) == data[-7:]
    assert client.download(digest, len(data)) == b""


def test_upload_with_a_wrong_digest_is_refused(client):
    data = models.small_model(width=20)
    wrong = client.digest(data[::-1])
    with pytest.raises(grpc.RpcError) as refused:
        client.call("UploadBlob", client.chunks(wrong, data))
    assert refused.value.code() == grpc.StatusCode.DATA_LOSS
    assert client.reason(refused.value) == "BLOB_CORRUPT"
    assert len(client.missing(wrong)) == 1


def test_download_past_the_end_is_refused(client):
    digest = client.upload(models.small_model())
    with pytest.raises(grpc.RpcError) as refused:
        client.download(digest, digest.size_bytes + 1)
    assert refused.value.code() == grpc.StatusCode.OUT_OF_RANGE


@pytest.mark.parametrize("options", [
    {"device": "gpu"}, {"search": "magic"}, {"threads": -1}, {"budget_seconds": float("nan")},
    {"precision": "fp7"}, {"precision": "BF16"}, {"device": "model:H200"}, {"opset": 6},
])
def test_bad_options_are_refused_by_name(client, options):
    digest = client.upload(models.small_model())
    with pytest.raises(grpc.RpcError) as refused:
        client.submit(digest, **options)
    assert refused.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert client.reason(refused.value) == "INVALID_REQUEST"
    ((field, description),) = field_violations(refused.value)
    assert field == f"options.{next(iter(options))}"
    assert refused.value.details() == f"{field}: {description}"


def test_an_option_of_a_newer_client_is_refused_by_number(client):
    request = client.request(client.upload(models.small_model()))
    request.options.MergeFromString(b"\x98\x06\x01")  # field 99
    with pytest.raises(grpc.RpcError) as refused:
        client.call("OptimizeModel", request)
    assert refused.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    ((field, _),) = field_violations(refused.value)
    assert field == "options.99"


def test_a_model_that_is_too_large_is_refused_before_it_is_sent(client):
    largest = client.call("GetCapabilities").model_bytes_max
    digest = client.message("Digest", sha256_hex="a" * 64, size_bytes=largest + 1)
    with pytest.raises(grpc.RpcError) as refused:
        client.submit(digest)
    assert client.reason(refused.value) == "LIMIT_EXCEEDED"
    with pytest.raises(grpc.RpcError) as refused:
        client.call("UploadBlob", client.chunks(digest, b"x"))
    assert client.reason(refused.value) == "LIMIT_EXCEEDED"


def test_jobs_are_listed_by_a_filter(client):
    digest = client.upload(models.small_model(width=36))
    ids = [client.submit(digest, search="none").id for _ in range(3)]
    for job_id in ids:
        client.wait_for_end(job_id)
    wanted = f"model = {digest.sha256_hex} AND state = SUCCEEDED AND id != {ids[1]}"
    assert [job.id for job in client.jobs(page_size=1, filter=wanted)] == [ids[2], ids[0]]
    assert client.jobs(filter="end_time < 2020-01-01T00:00:00Z") == []
    with pytest.raises(grpc.RpcError) as refused:
        client.jobs(filter="state = RUNNING OR state = QUEUED")
    assert refused.value.details().startswith("filter: ")


def test_a_device_without_a_worker_is_refused_for_now(client):
    digest = client.upload(models.small_model())
    with pytest.raises(grpc.RpcError) as refused:
        client.submit(digest, device="cuda:7")
    assert refused.value.code() == grpc.StatusCode.UNAVAILABLE
    assert client.reason(refused.value) == "DEVICE_UNAVAILABLE"
    assert "cuda:7" in refused.value.details()
    assert error_detail(refused.value, error_details_pb2.RetryInfo).retry_delay.seconds > 0


def test_a_job_that_is_not_there_is_not_found(client):
    with pytest.raises(grpc.RpcError) as refused:
        client.get("no-such-job")
    assert refused.value.code() == grpc.StatusCode.NOT_FOUND
    assert client.reason(refused.value) == "NOT_FOUND"
    assert error_detail(refused.value, error_details_pb2.RetryInfo) is None


def test_a_job_needs_its_model_uploaded(client):
    digest = client.digest(b"never uploaded")
    with pytest.raises(grpc.RpcError) as refused:
        client.submit(digest)
    assert refused.value.code() == grpc.StatusCode.FAILED_PRECONDITION
    assert client.reason(refused.value) == "BLOB_MISSING"
    (missing,) = error_detail(refused.value, error_details_pb2.PreconditionFailure).violations
    assert missing.type == "MISSING"
    assert missing.subject == f"blobs/{digest.sha256_hex}/{digest.size_bytes}"


def test_validate_only_queues_nothing(client):
    request = client.request(client.upload(models.small_model()), validate_only=True)
    before = len(client.jobs())
    assert client.call("OptimizeModel", request).job.id == ""
    assert len(client.jobs()) == before


def test_a_request_id_names_one_job(client):
    digest = client.upload(models.small_model())
    first = client.submit(digest, "one-wish", search="none")
    assert client.submit(digest, "one-wish", search="none").id == first.id
    with pytest.raises(grpc.RpcError) as refused:
        client.submit(digest, "one-wish", search="none", seed=1)
    assert refused.value.code() == grpc.StatusCode.ALREADY_EXISTS
    assert client.reason(refused.value) == "REQUEST_ID_REUSED"
    client.wait_for_end(first.id)


def test_tenants_do_not_see_each_other(shared_daemon, client):
    data = models.small_model(width=24)
    job = client.submit(client.upload(data), search="none")
    with shared_daemon.client("somebody-else") as stranger:
        digest = stranger.digest(data)
        for call in (stranger.get, stranger.cancel):
            with pytest.raises(grpc.RpcError) as refused:
                call(job.id)
            assert refused.value.code() == grpc.StatusCode.NOT_FOUND
        with pytest.raises(grpc.RpcError) as refused:
            stranger.download(digest)
        assert refused.value.code() == grpc.StatusCode.NOT_FOUND
        with pytest.raises(grpc.RpcError) as refused:
            stranger.submit(digest)
        assert stranger.reason(refused.value) == "BLOB_MISSING"
        assert job.id not in {other.id for other in stranger.jobs()}
    client.wait_for_end(job.id)


def test_jobs_are_listed_in_pages_newest_first(client):
    digest = client.upload(models.small_model())
    ids = [client.submit(digest, search="none").id for _ in range(5)]
    listed = [job.id for job in client.jobs(page_size=2)]
    assert listed[:5] == ids[::-1]
    assert len(listed) == len(set(listed)) == len(client.jobs())
    for job_id in ids:
        assert state_of(client.wait_for_end(job_id)) == "SUCCEEDED"


def test_an_equal_request_is_answered_from_the_cache(client):
    digest = client.upload(models.small_model(width=28))
    first = client.wait_for_end(client.submit(digest, search="none").id)
    second = client.wait_for_end(client.submit(digest, search="none").id)
    assert (state_of(first), state_of(second)) == ("SUCCEEDED", "SUCCEEDED")
    assert not first.result.report.cached and second.result.report.cached
    assert second.result.report.id == second.id
    assert second.result.optimized_model == first.result.optimized_model


def test_devices_and_capabilities_are_told(client):
    (entry,) = [entry for entry in client.call("ListDevices").devices
                if entry.device.id == "cpu"]
    assert entry.workers == 1 and entry.device.cores >= 1 and entry.device.fingerprint
    capabilities = client.call("GetCapabilities")
    assert (capabilities.opset_min, capabilities.opset_max) == (7, 28)
    assert {"none", "plait"} <= set(capabilities.search_policies)
    assert "strict" in capabilities.precisions
    assert capabilities.blob_chunk_bytes_max == 1 << 20


@pytest.mark.parametrize("part", [0.0, 0.01, 0.3, 0.7, 0.999])
def test_a_truncated_model_fails_its_job_and_nothing_else(shared_daemon, client, part):
    data = models.light_model("tiny_resnet")
    job = client.submit(client.upload(data[:int(len(data) * part)]), budget_seconds=5)
    ended = client.wait_for_end(job.id)
    assert state_of(ended) == "FAILED"
    assert job_reason(ended) == "MODEL_REJECTED", ended.error
    assert ended.error.message and ended.faults == 0
    assert shared_daemon.is_alive()


def test_a_job_uses_no_more_threads_than_it_asks_for(client):
    model = client.upload(models.light_model("tiny_resnet"))
    job = client.wait_for_end(client.submit(model, threads=1, budget_seconds=2).id)
    optimized = onnx.load_from_string(client.download(job.result.optimized_model))
    (plan,) = (entry.value for entry in optimized.metadata_props if entry.key == "plait.plan")
    plan = models.unpacked_text(plan)
    assert "\n  threads 1\n" in plan and "width=2" not in plan
