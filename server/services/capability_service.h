#pragma once

#include <grpcpp/server_context.h>

#include "plait/v1/capability.pb.h"
#include "server/services/service_context.h"

namespace plait {

// What this server can do and which devices it has: names and limits are those that requests are
// checked against, and devices those of the workers that are connected now.
// See capability.proto for each RPC and its errors. Thread-safe.
class CapabilityServiceHandler final {
 public:
  // `context` must outlive the handler.
  explicit CapabilityServiceHandler(const ServiceContext& context) : context_(context) {}

  // Constant for the life of a server.
  grpc::Status GetCapabilities(grpc::ServerContext* context,
                               const v1::GetCapabilitiesRequest* request,
                               v1::GetCapabilitiesResponse* response);
  // A moment's view: a worker that restarts is missing from it for some seconds.
  grpc::Status ListDevices(grpc::ServerContext* context, const v1::ListDevicesRequest* request,
                           v1::ListDevicesResponse* response);

 private:
  const ServiceContext& context_;
};

}  // namespace plait
