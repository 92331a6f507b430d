#pragma once

#include "plait/admin/v1/admin.grpc.pb.h"
#include "server/services/service_context.h"

namespace plait {

// What operators see and do, over all tenants. See admin.proto for each RPC and its errors.
// Thread-safe.
class AdminServiceHandler final : public admin::v1::AdminService::Service {
 public:
  // `context` must outlive the handler.
  explicit AdminServiceHandler(const ServiceContext& context) : context_(context) {}

  grpc::Status GetServerState(grpc::ServerContext* context,
                              const admin::v1::GetServerStateRequest* request,
                              admin::v1::GetServerStateResponse* response) override;
  // Only sets the flag: services refuse jobs by it, and the server's Tick ends the rest.
  grpc::Status DrainServer(grpc::ServerContext* context,
                           const admin::v1::DrainServerRequest* request,
                           admin::v1::DrainServerResponse* response) override;

 private:
  const ServiceContext& context_;
};

}  // namespace plait
