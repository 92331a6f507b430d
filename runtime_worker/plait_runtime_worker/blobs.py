"""The blobs of a task, fetched from the server."""

import hashlib

from plait_runtime_worker import protocol

# A model is at most 2 GiB, which is what its own format can hold.
BLOB_BYTES_MAX = 2 << 30


class Refused(Exception):
    """A blob is too large, or what came is not what its digest says."""


def fetch(server, digest):
    """The bytes that have this digest."""
    if not 0 <= digest.size_bytes <= BLOB_BYTES_MAX:
        raise Refused(f"a blob of {digest.size_bytes} bytes is too large")
    data = bytearray()
    request = protocol.DownloadBlobRequest(digest={"sha256_hex": digest.sha256_hex,
                                                   "size_bytes": digest.size_bytes})
    for chunk in server.download(request):
        data += chunk.data
        if len(data) > digest.size_bytes:
            break
    if len(data) != digest.size_bytes or hashlib.sha256(data).hexdigest() != digest.sha256_hex:
        raise Refused(f"the server sent other bytes than those of {digest.sha256_hex}")
    return bytes(data)
