#pragma once

#include <grpcpp/server_context.h>

#include "plait/admin/v1/admin.pb.h"
#include "server/services/service_context.h"

namespace plait {

// What operators see and do, over all tenants. See admin.proto for each RPC and its errors.
// Thread-safe.
class AdminServiceHandler final {
 public:
  // `context` must outlive the handler.
  explicit AdminServiceHandler(const ServiceContext& context) : context_(context) {}

  // Reads the directory of blobs, which takes time for many; meant for a person, not for polling.
  grpc::Status GetServerState(grpc::ServerContext* context,
                              const admin::v1::GetServerStateRequest* request,
                              admin::v1::GetServerStateResponse* response);
  // Answers before anything has stopped; repeated calls are harmless, and there is no way back but
  // a restart. Jobs that are queued stay queued for the next daemon.
  // Only sets the flag: services refuse jobs by it, and the server's Tick ends the rest.
  grpc::Status DrainServer(grpc::ServerContext* context,
                           const admin::v1::DrainServerRequest* request,
                           admin::v1::DrainServerResponse* response);

 private:
  const ServiceContext& context_;
};

}  // namespace plait
