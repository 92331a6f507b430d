"""A server that gives one worker one task after the other."""

import concurrent.futures
import hashlib
import os
import queue
import subprocess
import sys
import tempfile

import grpc

ANSWER_SECONDS_MAX = 60
CHUNK_BYTES = 1 << 20


class FakeServer(grpc.GenericRpcHandler):
    """Use as a context manager."""

    def __init__(self, folder, packages):
        self.folder = folder
        self.packages = os.pathsep.join(str(folder) for folder in packages)
        # Short: the path of a unix socket may have 107 bytes.
        self.sockets = tempfile.TemporaryDirectory(prefix="plait-")
        self.address = f"unix:{self.sockets.name}/socket"
        self.blobs = {}
        self.tasks = queue.Queue()
        self.results = queue.Queue()
        self.seen = []  # requests
        self.task = None
        self.workers = []
        self.number = 0
        self.grpc = grpc.server(concurrent.futures.ThreadPoolExecutor(8))
        self.grpc.add_generic_rpc_handlers((self,))
        self.grpc.add_insecure_port(self.address)

    def __enter__(self):
        self.grpc.start()
        return self

    def __exit__(self, *_):
        for worker in self.workers:
            worker.kill()
            worker.wait()
        self.grpc.stop(0).wait()
        self.sockets.cleanup()

    def start_worker(self, runtime, *arguments):
        command = [sys.executable, "-m", "plait_runtime_worker", "--device", runtime, "--server",
                   self.address, "--id", f"worker-{len(self.workers)}", "--threads", "2",
                   "--parent", str(os.getpid()), *arguments]
        self.workers.append(subprocess.Popen(
            command, cwd=self.folder, env={**os.environ, "PYTHONPATH": self.packages}))
        return self.workers[-1]

    def store(self, data):
        """Keeps a blob and returns its digest's fields."""
        name = hashlib.sha256(data).hexdigest()
        self.blobs[name] = bytes(data)
        return {"sha256_hex": name, "size_bytes": len(data)}

    def give(self, task):
        """Gives the worker a task, without waiting."""
        self.number += 1
        task.task_id, task.attempt = f"task-{self.number}", 1
        self.tasks.put(task)

    def result(self):
        return self.results.get(timeout=ANSWER_SECONDS_MAX)

    def ask(self, task):
        self.give(task)
        return self.result()

    def service(self, handler_call_details):
        from plait_runtime_worker import protocol

        name = handler_call_details.method.rpartition("/")[2]
        if name == "Synchronize":
            return grpc.unary_unary_rpc_method_handler(
                self._synchronize, protocol.SynchronizeRequest.FromString,
                protocol.SynchronizeResponse.SerializeToString)
        return grpc.unary_stream_rpc_method_handler(
            self._download, protocol.DownloadBlobRequest.FromString,
            protocol.DownloadBlobResponse.SerializeToString)

    def _synchronize(self, request, _):
        from plait_runtime_worker import protocol

        self.seen.append(request)
        if self.task and request.HasField("completed"):
            self.results.put(request.completed.result)
            self.task = None
        if not self.task:
            try:
                self.task = self.tasks.get(timeout=0.05)
            except queue.Empty:
                pass
        response = protocol.SynchronizeResponse(next_synchronize_in_ms=50)
        if self.task:
            response.task.CopyFrom(self.task)
        else:
            response.idle.SetInParent()
        return response

    def _download(self, request, context):
        from plait_runtime_worker import protocol

        metadata = dict(context.invocation_metadata())
        if request.digest.sha256_hex not in self.blobs or "plait-worker-id" not in metadata:
            context.abort(grpc.StatusCode.NOT_FOUND, "there is no such blob")
        data = self.blobs[request.digest.sha256_hex]
        for offset in range(0, len(data), CHUNK_BYTES):
            yield protocol.DownloadBlobResponse(offset_bytes=offset,
                                                data=data[offset:offset + CHUNK_BYTES])
