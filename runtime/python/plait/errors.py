"""What goes wrong, one class for each thing that a program may want to do about it."""

from __future__ import annotations

__all__ = [
    "CancelledError", "DeadlineError", "DeviceUnavailableError", "Error", "ForkedError",
    "InternalError", "InvalidRequestError", "JobFailedError", "LimitExceededError",
    "ModelRejectedError", "NotEquivalentError", "NotFoundError", "PermissionDeniedError",
    "QuotaExceededError", "UnreachableError", "UnsupportedError",
]


class Error(RuntimeError):
    """What plait says. `reason` is for programs: an ErrorReason of plait/v1/error.proto without its
    prefix, such as "MODEL_REJECTED"; str(error) is for people, and names the thing and the fix.
    `retry_seconds`: a server that may be asked again says after how long; else None."""

    def __init__(self, message: str, reason: str = "INTERNAL") -> None:
        super().__init__(message)
        self.reason = reason
        self.retry_seconds: float | None = None


class InternalError(Error):
    """A fault of plait itself. Please report it."""


class InvalidRequestError(Error):
    """An argument makes no sense; repeating the call unchanged cannot succeed."""


class NotFoundError(Error):
    """There is no such file, device, job or program."""


class ModelRejectedError(Error):
    """The model is not ONNX, is damaged, or uses what plait refuses."""


class LimitExceededError(Error):
    """The model is larger than a limit that the message names, or than the device's memory."""


class QuotaExceededError(Error):
    """A queue is full: try again later."""


class DeviceUnavailableError(Error):
    """No worker serves the device, or its name is none that there is."""


class UnreachableError(Error):
    """No server answers there, it is about to stop, or its storage has failed: try again later."""


class PermissionDeniedError(Error):
    """The call is not allowed at this address, the credentials were not accepted, or a file may not
    be read."""


class CancelledError(Error):
    """The job was cancelled."""


class DeadlineError(Error):
    """The job's time ran out."""


class JobFailedError(Error):
    """The job failed by a fault of plait's, or was quarantined."""


class NotEquivalentError(Error):
    """What was made does not compute what the original does; it was not handed out."""


class UnsupportedError(Error):
    """An operator, or an operation, that this version does not have."""


class ForkedError(Error):
    """This process was forked from one that has sessions: create them after the fork, or use
    multiprocessing's "spawn"."""


_CLASSES: dict[str, type[Error]] = {
    "INVALID_REQUEST": InvalidRequestError,
    "MODEL_REJECTED": ModelRejectedError,
    "LIMIT_EXCEEDED": LimitExceededError,
    "BLOB_MISSING": InvalidRequestError,
    "BLOB_CORRUPT": UnreachableError,
    "DEVICE_UNAVAILABLE": DeviceUnavailableError,
    "QUOTA_EXCEEDED": QuotaExceededError,
    "NOT_FOUND": NotFoundError,
    "REQUEST_ID_REUSED": InvalidRequestError,
    "WRONG_STATE": InvalidRequestError,
    "CANCELLED": CancelledError,
    "DEADLINE": DeadlineError,
    "QUARANTINED": JobFailedError,
    "CRASHED": JobFailedError,
    "NOT_EQUIVALENT": NotEquivalentError,
    "UNAUTHENTICATED": PermissionDeniedError,
    "PERMISSION_DENIED": PermissionDeniedError,
    "DRAINING": UnreachableError,
    "STORAGE_UNAVAILABLE": UnreachableError,
    "UNREACHABLE": UnreachableError,
    "UNSUPPORTED": UnsupportedError,
    "FORKED": ForkedError,
}


def error_of(reason: str, message: str) -> Error:
    """The exception for a reason; of a newer server's, InternalError."""
    return _CLASSES.get(reason, InternalError)(message, reason)
