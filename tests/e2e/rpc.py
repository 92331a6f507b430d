"""A gRPC client that knows nothing of plait: every message type comes from server reflection."""

import hashlib
import uuid

import grpc
from google.protobuf import descriptor_pool, message_factory
from google.rpc import error_details_pb2
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (
    ProtoReflectionDescriptorDatabase)
from grpc_status import rpc_status

from waiting import wait_until

CALL_SECONDS_MAX = 60
CHUNK_BYTES = 256 * 1024
FINAL_STATES = {"SUCCEEDED", "FAILED", "CANCELLED", "QUARANTINED"}
SERVICES = {
    "OptimizeModel": "OptimizationService", "GetJob": "OptimizationService",
    "ListJobs": "OptimizationService", "WatchJob": "OptimizationService",
    "CancelJob": "OptimizationService", "DeleteJob": "OptimizationService",
    "FindMissingBlobs": "BlobService",
    "UploadBlob": "BlobService", "DownloadBlob": "BlobService",
    "GetCapabilities": "CapabilityService", "ListDevices": "CapabilityService",
    "ListProfiles": "ProfileService", "ImportProfiles": "ProfileService",
    "DropProfiles": "ProfileService",
    "GetServerState": "AdminService", "DrainServer": "AdminService", "Synchronize": "WorkerService",
}
# Of services that are not in plait.v1.
PACKAGES = {"AdminService": "plait.admin.v1", "WorkerService": "plait.worker.v1"}


class Client:
    """Calls the services of one server."""

    def __init__(self, address, tenant="default", credentials=None):
        options = [("grpc.enable_http_proxy", 0), ("grpc.use_local_subchannel_pool", 1)]
        self.channel = (grpc.secure_channel(address, credentials, options) if credentials
                        else grpc.insecure_channel(address, options))
        self.database = ProtoReflectionDescriptorDatabase(self.channel)
        self.pool = descriptor_pool.DescriptorPool(self.database)
        self.metadata = [("plait-tenant", tenant)]

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.channel.close()

    def message(self, name, /, **fields):
        descriptor = self.pool.FindMessageTypeByName(f"plait.v1.{name}")
        return message_factory.GetMessageClass(descriptor)(**fields)

    def method(self, name):
        package = PACKAGES.get(SERVICES[name], "plait.v1")
        return self.pool.FindServiceByName(f"{package}.{SERVICES[name]}").methods_by_name[name]

    def request_of(self, name):
        """An empty request of an RPC."""
        return message_factory.GetMessageClass(self.method(name).input_type)()

    def call(self, name, request=None, seconds_max=CALL_SECONDS_MAX):
        """Calls an RPC with a message, or a list of messages when it takes a stream."""
        method = self.method(name)
        answer = message_factory.GetMessageClass(method.output_type)
        streams_in = isinstance(request, list)
        streams_out = method.name in ("WatchJob", "DownloadBlob")
        kind = ("stream" if streams_in else "unary") + ("_stream" if streams_out else "_unary")
        invoke = getattr(self.channel, kind)(
            f"/{method.containing_service.full_name}/{name}",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=answer.FromString)
        if request is None:
            request = self.request_of(name)
        return invoke(iter(request) if streams_in else request, timeout=seconds_max,
                      metadata=self.metadata)

    @staticmethod
    def reason(error):
        """The documented reason that a failed call carries, without its prefix."""
        info = error_detail(error, error_details_pb2.ErrorInfo)
        assert info.domain == "plait"
        return info.reason

    def digest(self, data):
        return self.message("Digest", sha256_hex=hashlib.sha256(data).hexdigest(),
                            size_bytes=len(data))

    def missing(self, digest):
        request = self.message("FindMissingBlobsRequest", digests=[digest])
        return list(self.call("FindMissingBlobs", request).missing)

    def chunks(self, digest, data, offset=0, chunk_bytes=CHUNK_BYTES):
        requests = []
        for begin in range(offset, max(len(data), offset + 1), chunk_bytes):
            request = self.message("UploadBlobRequest", offset_bytes=begin,
                                   data=data[begin:begin + chunk_bytes])
            request.digest.CopyFrom(digest)
            requests.append(request)
        return requests

    def upload(self, data, chunk_bytes=CHUNK_BYTES):
        digest = self.digest(data)
        if self.missing(digest):
            self.call("UploadBlob", self.chunks(digest, data, 0, chunk_bytes))
        return digest

    def download(self, digest, offset=0):
        request = self.message("DownloadBlobRequest", digest=digest, offset_bytes=offset)
        data = b""
        for chunk in self.call("DownloadBlob", request):
            assert chunk.offset_bytes == offset + len(data)
            data += chunk.data
        return data

    def request(self, digest, request_id=None, validate_only=False, **options):
        """An OptimizeModelRequest for an uploaded model, whichever client made its digest."""
        model = self.message("Digest", sha256_hex=digest.sha256_hex, size_bytes=digest.size_bytes)
        return self.message(
            "OptimizeModelRequest", model=model, validate_only=validate_only,
            request_id=uuid.uuid4().hex if request_id is None else request_id,
            options=self.message("OptimizeOptions", **options))

    def submit(self, digest, request_id=None, **options):
        request = self.request(digest, request_id, **options)
        return self.call("OptimizeModel", request).job

    def get(self, job_id):
        return self.call("GetJob", self.message("GetJobRequest", job_id=job_id))

    def cancel(self, job_id):
        return self.call("CancelJob", self.message("CancelJobRequest", job_id=job_id)).job

    def running_task(self):
        """The task that a worker runs now; empty when all are idle."""
        return next((worker.task_id for worker in self.call("GetServerState").workers
                     if worker.task_id), "")

    def jobs(self, page_size=1000, **filters):
        found, token = [], ""
        while True:
            page = self.call("ListJobs", self.message(
                "ListJobsRequest", page_size=page_size, page_token=token, **filters))
            found += page.jobs
            token = page.next_page_token
            if not token:
                return found

    def watch(self, job_id, after=0, seconds_max=120):
        """Follows a job to its end; returns (first job, events, last job)."""
        request = self.message("WatchJobRequest", job_id=job_id, after_sequence=after)
        updates = list(self.call("WatchJob", request, seconds_max))
        kinds = [update.WhichOneof("update") for update in updates]
        assert kinds[0] == kinds[-1] == "job" and set(kinds[1:-1]) <= {"event"}, kinds
        return updates[0].job, [update.event for update in updates[1:-1]], updates[-1].job

    def wait_for(self, job_id, states, seconds_max=120):
        """Polls until the job is in one of the states; returns it."""
        return wait_until(
            lambda: (job := self.get(job_id).job) and state_of(job) in states and job,
            f"job {job_id} is one of {sorted(states)}", seconds_max)

    def wait_for_end(self, job_id, seconds_max=120):
        return self.wait_for(job_id, FINAL_STATES, seconds_max)


def with_length(tag, payload):
    """A field of a serialized message: its tag, the length and the bytes."""
    length, varint = len(payload), b""
    while length >= 0x80:
        varint += bytes([length & 0x7F | 0x80])
        length >>= 7
    return tag + varint + bytes([length]) + payload


def error_detail(error, message_type):
    """A detail of a failed call, read as any client reads it; None when the call has none."""
    # Raises when code or message in it are not those of the call.
    for packed in rpc_status.from_call(error).details:
        detail = message_type()
        if packed.Unpack(detail):
            return detail
    return None


def field_violations(error):
    """The fields that a refused call names, and what is wrong with them."""
    bad_request = error_detail(error, error_details_pb2.BadRequest)
    return [(violation.field, violation.description) for violation in bad_request.field_violations]


def _enum_name(message, field, prefix):
    values = message.DESCRIPTOR.fields_by_name[field].enum_type.values_by_number
    return values[getattr(message, field)].name.removeprefix(prefix)


def state_of(job):
    return _enum_name(job, "state", "JOB_STATE_")


def job_reason(job):
    return _enum_name(job.error, "reason", "ERROR_REASON_")


def type_of(event):
    return _enum_name(event, "type", "EVENT_TYPE_")
