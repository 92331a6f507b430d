"""plait.Client: jobs on a server."""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import json
import os
import pathlib
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import IO, TYPE_CHECKING, Any

from plait.errors import UnreachableError, error_of
from plait.options import JobOptions, Path, Tls, bounds, check_names
from plait.reading import read
from plait.results import Capabilities, Device, Event, Job, JobError, OptimizeResult

if TYPE_CHECKING:
    from typing_extensions import Unpack

# Options whose names are those of plait.v1's OptimizeOptions.
_SAME = ("device", "threads", "search", "schedule", "precision", "max_rel_error",
         "accept_inconclusive", "allow_predicted", "drop_plans", "body", "opset", "seed")


class Client:
    """A server, as `plaitd` is one.

        with plait.Client("plait.example.com:7400", tls=plait.Tls(ca="ca.pem")) as client:
            job = client.submit("model.onnx", budget=300)
            result = client.result(job.id, "model.opt.onnx")

    Calls are repeated while the server cannot be reached, for `patience` seconds; a job is never
    queued twice by that, and no event of one is lost. May be used from several threads.

    Every method raises plait.Error: UnreachableError, PermissionDeniedError, InvalidRequestError,
    NotFoundError (no such job, or somebody else's), QuotaExceededError, and what else it says.
    """

    def __init__(self, address: str, *, tls: Tls | None = None, insecure: bool = False,
                 tenant: str = "default", patience: float = 10.0) -> None:
        """`address`: HOST:PORT or unix:PATH. Loopback addresses and sockets are spoken to in
        plaintext unless `tls` names a CA, all others with TLS unless `insecure`. Connects with the
        first call. Raises ImportError without grpcio, and ValueError."""
        try:
            from plait import _rpc
        except ImportError as error:
            raise ImportError(f"plait.Client needs grpcio and protobuf ({error}): "
                              "pip install 'plait[client]'") from error
        self._rpc = _rpc
        self._channel = _rpc.open_channel(address, tls, insecure)
        self._caller = _rpc.Caller(self._channel, tenant, patience)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the connection; nothing may be called afterwards."""
        self._channel.close()

    def submit(self, model: Path | bytes, *, request_id: str | None = None,
               **options: Unpack[JobOptions]) -> Job:
        """Uploads a model, which is one file without external data, and queues a job for it. When
        this returns the job is on the server's disk. Repeated with the same `request_id` it returns
        the same job. `options`: see plait.JobOptions. Raises also LimitExceededError and
        DeviceUnavailableError."""
        check_names(options)
        data = model if isinstance(model, bytes) else pathlib.Path(model).read_bytes()
        request = self._rpc.message(
            "OptimizeModelRequest", request_id=request_id or uuid.uuid4().hex,
            model=self._upload(data), options=self._options(options))
        return self._job(self._caller.unary("OptimizeModel", request).job)

    def get(self, job_id: str) -> Job:
        """The job as it is now."""
        return self._job(self._get(job_id))

    def jobs(self, filter: str = "", *, limit: int | None = None) -> Iterator[Job]:
        """The tenant's jobs, newest first. `filter`: as `state = FAILED` (docs/cli.md)."""
        count, token = 0, ""
        while limit is None or count < limit:
            page = self._caller.unary("ListJobs", self._rpc.message(
                "ListJobsRequest", filter=filter, page_token=token,
                page_size=min(1000, 1000 if limit is None else limit - count)))
            yield from map(self._job, page.jobs)
            count, token = count + len(page.jobs), page.next_page_token
            if not token:
                return

    def watch(self, job_id: str, after_sequence: int = 0) -> Iterator[Event]:
        """The events of a job after the one of that number, as they come, until it is over."""
        while True:
            updates = self._caller.retried(
                lambda heard: self._follow(job_id, after_sequence, heard))
            try:
                for update in updates:
                    if update.WhichOneof("update") == "job" and self._job(update.job).is_over:
                        return
                    # Never twice, whatever a server sends after a broken stream.
                    if update.event.sequence > after_sequence:
                        after_sequence = update.event.sequence
                        yield self._event(update.event)
            except self._rpc.CallError as failure:
                error = self._rpc.error_of_call(failure)
                if not isinstance(error, UnreachableError):
                    raise error from failure
            # The connection broke, or the server has stopped: the next stream goes on from here.
            time.sleep(self._rpc.PAUSE_SECONDS_FIRST)

    def wait(self, job_id: str) -> Job:
        """The job when it is over."""
        for _ in self.watch(job_id):
            pass
        return self.get(job_id)

    def result(self, job_id: str, output: Path | None = None) -> OptimizeResult:
        """What a job has made, when it is over; the optimized model is written to `output`. Raises
        for a job that ended otherwise what plait.optimize raises."""
        for _ in self.watch(job_id):
            pass
        job = self._get(job_id)
        if job.WhichOneof("outcome") != "result":
            error = self._job(job).error or JobError("INTERNAL", "the job ended without a result")
            raise error_of(error.reason, f"job {job_id}: {error.message}")
        with tempfile.TemporaryFile() as file:
            self._download(job.result.report_json, file)
            file.seek(0)
            report = read(OptimizeResult, json.load(file))
        path = ""
        if output is not None:
            path = os.fspath(output)
            self._download_to(job.result.optimized_model, pathlib.Path(path))
        digest = job.result.optimized_model.sha256_hex
        written = dataclasses.replace(report.output, path=path, digest=digest)
        return dataclasses.replace(report, output=written)

    def cancel(self, job_id: str) -> Job:
        """Asks that a job be stopped; one that is over stays as it is."""
        request = self._rpc.message("CancelJobRequest", job_id=job_id)
        return self._job(self._caller.unary("CancelJob", request).job)

    def delete(self, job_id: str) -> None:
        """Removes a job that is over, with its result."""
        self._caller.unary("DeleteJob", self._rpc.message("DeleteJobRequest", job_id=job_id))

    def devices(self) -> list[Device]:
        """Those of connected workers, those only described, and the server's runtimes."""
        answer = self._caller.unary("ListDevices", self._rpc.message("ListDevicesRequest"))
        return [Device(**_fields(Device, available.device), workers=available.workers,
                       workers_idle=available.workers_idle) for available in answer.devices]

    def capabilities(self) -> Capabilities:
        """The names and limits that the server accepts."""
        request = self._rpc.message("GetCapabilitiesRequest")
        answer = self._caller.unary("GetCapabilities", request)
        return Capabilities(**_fields(Capabilities, answer))

    def _get(self, job_id: str) -> Any:
        return self._caller.unary("GetJob", self._rpc.message("GetJobRequest", job_id=job_id)).job

    def _options(self, options: Mapping[str, Any]) -> Any:
        message = self._rpc.message(
            "OptimizeOptions", budget_seconds=options.get("budget", 0.0),
            no_result_cache=not options.get("result_cache", True),
            **{name: options[name] for name in _SAME if name in options})
        for name, shape in options.get("shapes", {}).items():
            message.shapes[name].dims.extend(shape)
        for name, ranges in options.get("shape_ranges", {}).items():
            for low, high in map(bounds, ranges):
                message.shape_ranges[name].dims.add(low=low, high=high)
        if "plan_for" in options:
            message.plan_for.add().threads.extend(options["plan_for"])
        message.runtimes.extend(options.get("runtimes", ()))
        for arrays in options.get("inputs", ()):
            import numpy as np

            values = message.input_sets.add().values
            for name, array in arrays.items():
                data = np.asarray(array, order="C").tobytes()
                values.add(name=name).blob.CopyFrom(self._upload(data))
        return message

    def _upload(self, data: bytes) -> Any:
        """The digest of bytes that the server has."""
        message = self._rpc.message
        digest = message("Digest", sha256_hex=hashlib.sha256(data).hexdigest(),
                         size_bytes=len(data))

        confirmed = -1

        def attempt(heard: Callable[[], None]) -> None:
            nonlocal confirmed
            question = message("FindMissingBlobsRequest", digests=[digest])
            missing = self._caller.unary("FindMissingBlobs", question).missing
            if not missing:
                return
            begin = min(missing[0].offset_bytes, len(data))
            if begin > confirmed:
                confirmed = begin
                heard()
            self._caller.send("UploadBlob", self._chunks(digest, data, begin))

        self._caller.retried(attempt, self._rpc.UPLOADED_ELSEWHERE)
        return digest

    def _chunks(self, digest: Any, data: bytes, begin: int) -> Iterator[Any]:
        # A blob of no bytes is one empty chunk.
        for offset in range(begin, max(len(data), begin + 1), self._rpc.CHUNK_BYTES):
            chunk = data[offset : offset + self._rpc.CHUNK_BYTES]
            yield self._rpc.message("UploadBlobRequest", digest=digest, offset_bytes=offset,
                                    data=chunk)

    def _download(self, digest: Any, file: IO[bytes]) -> None:
        hasher, received = hashlib.sha256(), 0

        def attempt(heard: Callable[[], None]) -> None:
            nonlocal received
            request = self._rpc.message("DownloadBlobRequest", digest=digest,
                                        offset_bytes=received)
            for chunk in self._caller.stream("DownloadBlob", request):
                heard()
                file.write(chunk.data)
                hasher.update(chunk.data)
                received += len(chunk.data)

        self._caller.retried(attempt)
        if hasher.hexdigest() != digest.sha256_hex:
            raise error_of("BLOB_CORRUPT", f"the bytes that arrived are not {digest.sha256_hex}")

    def _download_to(self, digest: Any, path: pathlib.Path) -> None:
        """The file is there when it is whole."""
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".plait-", delete=False) as file:
            part = pathlib.Path(file.name)
            try:
                self._download(digest, file)
            except BaseException:
                part.unlink()
                raise
        # A temporary file is its owner's alone; a result is as other files are.
        mask = os.umask(0)
        os.umask(mask)
        part.chmod(0o666 & ~mask)
        part.replace(path)

    def _follow(self, job_id: str, after_sequence: int,
                heard: Callable[[], None]) -> Iterator[Any]:
        """A stream of a job's updates behind the first one, which is the job as it is now: what
        fails before it is tried again."""
        updates = self._caller.stream("WatchJob", self._rpc.message(
            "WatchJobRequest", job_id=job_id, after_sequence=after_sequence))
        next(updates, None)
        heard()
        return updates

    def _job(self, job: Any) -> Job:
        error = None
        if job.HasField("error"):
            reason = self._rpc.name_of("ErrorReason", job.error.reason, "ERROR_REASON_")
            error = JobError(reason, job.error.message)
        progress = {name: getattr(job.progress, name) for name in
                    ("phase", "fraction", "seconds_left", "speedup", "speedup_predicted")}
        return Job(id=job.id, state=self._rpc.name_of("JobState", job.state, "JOB_STATE_"),
                   device=job.options.device, model=job.model.sha256_hex, error=error,
                   submitted_at=_time(job, "create_time"), started_at=_time(job, "start_time"),
                   ended_at=_time(job, "end_time"), **progress)

    def _event(self, event: Any) -> Event:
        return Event(sequence=event.sequence, text=event.text, fraction=event.fraction,
                     seconds_left=event.seconds_left, speedup=event.speedup,
                     type=self._rpc.name_of("EventType", event.type, "EVENT_TYPE_"),
                     time=_time(event, "time"))


def _time(message: Any, field: str) -> Any:
    """An aware datetime, or None."""
    if not message.HasField(field):
        return None
    return getattr(message, field).ToDatetime(tzinfo=datetime.timezone.utc)


def _fields(kind: type, message: Any) -> dict[str, Any]:
    """Those fields of a message that a class of results has."""
    names = {field.name for field in dataclasses.fields(kind)}
    values = {}
    for field in message.DESCRIPTOR.fields:
        if field.name in names:
            value = getattr(message, field.name)
            values[field.name] = value if isinstance(value, (str, int, float)) else tuple(value)
    return values
