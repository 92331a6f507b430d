"""plait.v1 over gRPC: messages, calls, and errors as exceptions. Needs grpcio and protobuf.

Messages are made from the descriptors that the wheel brings, in a pool of their own: a program may
have other stubs of plait.v1, and any version of protobuf."""

from __future__ import annotations

import pathlib
import random
import re
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from plait.errors import Error, UnreachableError, error_of
from plait.options import Tls

_T = TypeVar("_T")

CallError = grpc.RpcError

# A unary call does one durable write: a server that takes longer is taken for dead.
CALL_SECONDS_MAX = 60.0
PAUSE_SECONDS_FIRST = 0.1
PAUSE_SECONDS_MAX = 2.0
CHUNK_BYTES = 1 << 20

_SERVICES = {
    "OptimizeModel": "OptimizationService", "GetJob": "OptimizationService",
    "ListJobs": "OptimizationService", "WatchJob": "OptimizationService",
    "CancelJob": "OptimizationService", "DeleteJob": "OptimizationService",
    "FindMissingBlobs": "BlobService", "UploadBlob": "BlobService", "DownloadBlob": "BlobService",
    "GetCapabilities": "CapabilityService", "ListDevices": "CapabilityService",
}

# What gRPC's own codes mean where no answer of plait's came along.
_REASONS = {
    grpc.StatusCode.UNAVAILABLE: "UNREACHABLE", grpc.StatusCode.DEADLINE_EXCEEDED: "UNREACHABLE",
    # gRPC's server cancels the calls that meet its end.
    grpc.StatusCode.CANCELLED: "UNREACHABLE",
    grpc.StatusCode.UNIMPLEMENTED: "UNSUPPORTED", grpc.StatusCode.NOT_FOUND: "NOT_FOUND",
    grpc.StatusCode.INVALID_ARGUMENT: "INVALID_REQUEST",
    grpc.StatusCode.RESOURCE_EXHAUSTED: "LIMIT_EXCEEDED",
    grpc.StatusCode.PERMISSION_DENIED: "PERMISSION_DENIED",
    grpc.StatusCode.UNAUTHENTICATED: "UNAUTHENTICATED",
}


def _read_pool() -> descriptor_pool.DescriptorPool:
    pool = descriptor_pool.DescriptorPool()
    data = (pathlib.Path(__file__).parent / "messages.binpb").read_bytes()
    for file in descriptor_pb2.FileDescriptorSet.FromString(data).file:
        pool.AddSerializedFile(file.SerializeToString())
    return pool


# Another upload of the same bytes runs: ask again where to continue.
UPLOADED_ELSEWHERE = (grpc.StatusCode.OUT_OF_RANGE,)

_POOL = _read_pool()


def _class_of(full_name: str) -> Any:
    return message_factory.GetMessageClass(_POOL.FindMessageTypeByName(full_name))


def message(name: str, /, **fields: Any) -> Any:
    """A message of plait.v1."""
    return _class_of(f"plait.v1.{name}")(**fields)


def name_of(enum: str, number: int, prefix: str) -> str:
    """An enum's value without its prefix: "QUEUED"; of a newer server's, its number."""
    value = _POOL.FindEnumTypeByName(f"plait.v1.{enum}").values_by_number.get(number)
    return str(number) if value is None else str(value.name).removeprefix(prefix)


def open_channel(address: str, tls: Tls | None, insecure: bool) -> grpc.Channel:
    """Raises ValueError for an address that is none, and OSError for a PEM file."""
    if not re.fullmatch(r"unix:.+|.+:\d{1,5}", address):
        raise ValueError(f"address: must be HOST:PORT or unix:PATH, is {address!r}")
    if insecure and tls is not None:
        raise ValueError("insecure: means no TLS, leave out tls")
    options = [("grpc.max_receive_message_length", 4 << 20),
               ("grpc.initial_reconnect_backoff_ms", 50), ("grpc.max_reconnect_backoff_ms", 2000),
               # Else a call would wait for ever for a server that is gone.
               ("grpc.keepalive_time_ms", 20_000), ("grpc.keepalive_timeout_ms", 10_000),
               ("grpc.http2.max_pings_without_data", 0)]
    # As the command line has it: nothing leaves the machine.
    local = re.match(r"unix:|localhost:|127\.\d+\.\d+\.\d+:|\[::1\]:", address)
    if local:
        options.append(("grpc.enable_http_proxy", 0))
    if insecure or (local and (tls is None or tls.ca is None)):
        return grpc.insecure_channel(address, options)
    files = tls or Tls()
    if (files.cert is None) != (files.key is None):
        raise ValueError("tls: cert and key are given together or not at all")
    ca, key, cert = (None if path is None else pathlib.Path(path).read_bytes()
                     for path in (files.ca, files.key, files.cert))
    return grpc.secure_channel(address, grpc.ssl_channel_credentials(ca, key, cert), options)


class Caller:
    """Calls a server by one channel, again and again while it is away. Thread-safe."""

    def __init__(self, channel: grpc.Channel, tenant: str, patience: float) -> None:
        self.channel = channel
        self._metadata = [("plait-tenant", tenant)]
        self._patience = patience

    def unary(self, name: str, request: Any) -> Any:
        """Raises plait.Error."""
        return self.retried(lambda heard: self._invoke("unary_unary", name)(
            request, timeout=CALL_SECONDS_MAX, metadata=self._metadata))

    def stream(self, name: str, request: Any) -> Iterator[Any]:
        """The messages of a server's stream. Raises grpc.RpcError."""
        call = self._invoke("unary_stream", name)(request, metadata=self._metadata)
        try:
            yield from call
        finally:
            call.cancel()

    def send(self, name: str, requests: Iterator[Any]) -> Any:
        """Raises grpc.RpcError."""
        return self._invoke("stream_unary", name)(requests, metadata=self._metadata)

    def retried(self, attempt: Callable[[Callable[[], None]], _T],
                codes: tuple[grpc.StatusCode, ...] = ()) -> _T:
        """What `attempt` returns, which is called again while nobody answers, or one of the codes
        is the answer. It calls what it is given when it has heard of the server. Raises
        plait.Error."""
        last, pause = time.monotonic(), PAUSE_SECONDS_FIRST

        def heard() -> None:
            nonlocal last, pause
            last, pause = time.monotonic(), PAUSE_SECONDS_FIRST

        while True:
            try:
                return attempt(heard)
            except grpc.RpcError as failure:
                error = error_of_call(failure)
                if not isinstance(error, UnreachableError) and failure.code() not in codes:
                    raise error from failure
                if time.monotonic() - last + pause > self._patience:
                    raise error from failure
            time.sleep(pause * random.uniform(0.5, 1.0))
            pause = min(2 * pause, PAUSE_SECONDS_MAX)

    def _invoke(self, kind: str, name: str) -> Any:
        answer = _class_of(f"plait.v1.{name}Response")
        return getattr(self.channel, kind)(
            f"/plait.v1.{_SERVICES[name]}/{name}",
            request_serializer=lambda request: request.SerializeToString(),
            response_deserializer=answer.FromString)


def error_of_call(failure: Any) -> Error:
    """What a failed call says: plait's own words where there are some, else gRPC's."""
    reason, retry_seconds = _REASONS.get(failure.code(), "INTERNAL"), None
    for key, value in failure.trailing_metadata() or ():
        if key != "grpc-status-details-bin":
            continue
        for detail in _class_of("plait.internal.Status").FromString(value).details:
            kind = detail.type_url.rpartition("/")[2]
            if kind == "google.rpc.ErrorInfo":
                info = _class_of("plait.internal.ErrorInfo").FromString(detail.value)
                reason = info.reason if info.domain == "plait" else reason
            elif kind == "google.rpc.RetryInfo":
                delay = _class_of("plait.internal.RetryInfo").FromString(detail.value).retry_delay
                retry_seconds = delay.seconds + delay.nanos / 1e9
    error = error_of(reason, failure.details() or "")
    error.retry_seconds = retry_seconds
    return error
