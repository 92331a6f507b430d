#pragma once

#include "plait/worker/v1/worker.grpc.pb.h"
#include "server/services/service_context.h"

namespace plait {

// The calls of workers. See worker.proto. Thread-safe.
class WorkerServiceHandler final : public worker::v1::WorkerService::Service {
 public:
  explicit WorkerServiceHandler(const ServiceContext& context) : context_(context) {}

  grpc::Status Synchronize(grpc::ServerContext* context,
                           const worker::v1::SynchronizeRequest* request,
                           worker::v1::SynchronizeResponse* response) override;

 private:
  const ServiceContext& context_;
};

}  // namespace plait
