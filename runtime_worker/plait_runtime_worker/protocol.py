"""Messages and calls of plait.worker.v1, made from the descriptors that the build wrote.

Made at run time, so that any protobuf and grpcio will do: code that protoc generates is for the
versions of one year.
"""

import pathlib

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

# Of plait.worker.v1.SynchronizeRequest.
VERSION = 5
WORKER_ID_KEY = "plait-worker-id"
DESCRIPTORS = pathlib.Path(__file__).with_name("protocol.binpb")


def _classes():
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(DESCRIPTORS.read_bytes()).file:
        pool.Add(file)
    return lambda name: message_factory.GetMessageClass(pool.FindMessageTypeByName(name))


_class = _classes()
SynchronizeRequest = _class("plait.worker.v1.SynchronizeRequest")
SynchronizeResponse = _class("plait.worker.v1.SynchronizeResponse")
TaskResult = _class("plait.worker.v1.TaskResult")
DownloadBlobRequest = _class("plait.v1.DownloadBlobRequest")
DownloadBlobResponse = _class("plait.v1.DownloadBlobResponse")


class Server:
    """The server's calls that a worker makes."""

    def __init__(self, address, worker_id):
        import grpc

        # A model's blobs come in chunks of a megabyte.
        options = [("grpc.enable_http_proxy", 0), ("grpc.max_receive_message_length", 64 << 20)]
        self.channel = grpc.insecure_channel(address, options)
        self.metadata = [(WORKER_ID_KEY, worker_id)]
        self._synchronize = self.channel.unary_unary(
            "/plait.worker.v1.WorkerService/Synchronize",
            request_serializer=SynchronizeRequest.SerializeToString,
            response_deserializer=SynchronizeResponse.FromString)
        self._download = self.channel.unary_stream(
            "/plait.v1.BlobService/DownloadBlob",
            request_serializer=DownloadBlobRequest.SerializeToString,
            response_deserializer=DownloadBlobResponse.FromString)

    def synchronize(self, request, seconds_max):
        return self._synchronize(request, timeout=seconds_max)

    def download(self, request):
        return self._download(request, metadata=self.metadata)

    def close(self):
        self.channel.close()
