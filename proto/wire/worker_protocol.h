#pragma once

namespace plait::wire {

// What plait.worker.v1 means by its messages, see SynchronizeRequest.protocol_version. One more
// whenever a worker of before would misunderstand a task.
constexpr int kWorkerProtocolVersion = 5;

// The metadata key by which DownloadBlob hears which worker calls. In lower case, as gRPC gives the
// names of metadata.
constexpr char kWorkerIdKey[] = "plait-worker-id";

}  // namespace plait::wire
