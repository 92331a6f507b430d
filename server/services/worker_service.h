#pragma once

#include <grpcpp/server_context.h>

#include "plait/worker/v1/worker.pb.h"
#include "server/services/service_context.h"

namespace plait {

// The calls of workers: checks what they say of themselves and hands it to the pool, which decides.
// See worker.proto for the RPC and its errors. Thread-safe.
class WorkerServiceHandler final {
 public:
  // `context` must outlive the handler.
  // Reads the pool and whether the server drains; touches no storage.
  explicit WorkerServiceHandler(const ServiceContext& context) : context_(context) {}

  // The call of a worker that is idle and stays so waits for work, for up to a second: work then
  // starts at once, although workers call rarely.
  //
  // Profiles and measurements in it are not judged here: who asked for them checks them.
  grpc::Status Synchronize(grpc::ServerContext* context,
                           const worker::v1::SynchronizeRequest* request,
                           worker::v1::SynchronizeResponse* response);

 private:
  const ServiceContext& context_;
};

}  // namespace plait
