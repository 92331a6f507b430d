#pragma once

#include "plait/admin/v1/admin.grpc.pb.h"
#include "server/services/service_context.h"

namespace plait {

// What operators see and do. See admin.proto. Thread-safe.
class AdminServiceHandler final : public admin::v1::AdminService::Service {
 public:
  explicit AdminServiceHandler(const ServiceContext& context) : context_(context) {}

  grpc::Status GetServerState(grpc::ServerContext* context,
                              const admin::v1::GetServerStateRequest* request,
                              admin::v1::GetServerStateResponse* response) override;
  grpc::Status DrainServer(grpc::ServerContext* context,
                           const admin::v1::DrainServerRequest* request,
                           admin::v1::DrainServerResponse* response) override;

 private:
  const ServiceContext& context_;
};

}  // namespace plait
