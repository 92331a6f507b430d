#pragma once

#include "plait/v1/worker.grpc.pb.h"
#include "server/services/service_context.h"

namespace plait {

// The calls of workers. See worker.proto. Thread-safe.
class WorkerServiceHandler final : public v1::WorkerService::Service {
 public:
  explicit WorkerServiceHandler(const ServiceContext& context) : context_(context) {}

  grpc::Status Synchronize(grpc::ServerContext* context, const v1::SynchronizeRequest* request,
                           v1::SynchronizeResponse* response) override;

 private:
  const ServiceContext& context_;
};

}  // namespace plait
