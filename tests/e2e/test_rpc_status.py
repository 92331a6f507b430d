"""Every error that plait has, read by a library that knows nothing of it: grpcio-status."""

import re
import subprocess

import grpc
import pytest
from google.rpc import error_details_pb2

import programs
from rpc import Client, error_detail, field_violations

CONTRACT = programs.ROOT / "proto/plait/v1/error.proto"


def documented_reasons():
    """(reason, gRPC code, whether there is RetryInfo) of each value, from its comment."""
    found = []
    for comment, reason in re.findall(r"((?:  //.*\n)+)  ERROR_REASON_(\w+) = [1-9]",
                                      CONTRACT.read_text()):
        text = re.sub(r"\s*//\s*", " ", comment)
        code = re.search(r"gRPC code ([A-Z_]+)", text).group(1)
        found.append((reason, code, "RetryInfo" in text))
    return found


@pytest.fixture(scope="module")
def call():
    """Calls the server that fails every call as its name says; returns the error."""
    server = subprocess.Popen([programs.program("error_server")], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE)
    port = int(server.stdout.readline())
    channel = grpc.insecure_channel(f"127.0.0.1:{port}", [("grpc.enable_http_proxy", 0)])

    def fail(name):
        with pytest.raises(grpc.RpcError) as refused:
            channel.unary_unary(f"/plait.Errors/{name}")(b"", timeout=60)
        return refused.value

    yield fail
    channel.close()
    server.communicate()
    assert server.returncode == 0


def test_every_reason_is_documented():
    numbers = re.findall(r"ERROR_REASON_\w+ = ([1-9]\d*);", CONTRACT.read_text())
    assert len(documented_reasons()) == len(numbers) >= 23


@pytest.mark.parametrize("reason, code, has_retry", documented_reasons())
def test_every_reason_is_read_as_it_is_documented(call, reason, code, has_retry):
    error = call(reason)
    assert error.code() == grpc.StatusCode[code]
    assert error.details() == "conv3: größer als erlaubt"
    assert Client.reason(error) == reason
    retry = error_detail(error, error_details_pb2.RetryInfo)
    assert (retry is not None) == has_retry
    assert retry is None or 1 <= retry.retry_delay.seconds <= 60


def test_a_refused_field_has_a_name(call):
    error = call("FIELD")
    assert Client.reason(error) == "INVALID_REQUEST"
    assert field_violations(error) == [("options.threads", "must be 0 to 1024, is -1")]


def test_a_missing_blob_has_the_name_that_remote_apis_give_it(call):
    error = call("BLOB")
    assert Client.reason(error) == "BLOB_MISSING"
    failure = error_detail(error, error_details_pb2.PreconditionFailure)
    (violation,) = failure.violations
    assert violation.type == "MISSING"
    assert re.fullmatch(r"blobs/[0-9a-f]{64}/5", violation.subject)


def test_the_longest_error_fits_into_the_metadata(call):
    error = call("LONG")
    assert error.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert error.details() == "ö" * 512
    assert field_violations(error) == [("ö" * 256, "ö" * 256)]


def test_an_error_without_a_reason_is_one_of_plait(call):
    error = call("PLAIN")
    assert error.code() == grpc.StatusCode.ABORTED
    assert Client.reason(error) == "INTERNAL"
