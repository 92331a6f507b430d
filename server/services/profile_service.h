#pragma once

#include <grpcpp/server_context.h>

#include "plait/v1/profile.pb.h"
#include "server/services/service_context.h"

namespace plait {

// Measured kernel times, to carry from one server to another. They belong to devices and not to
// tenants. What is imported is checked as what workers send is, all of it before any is stored.
// See profile.proto for each RPC and its errors. Thread-safe.
class ProfileServiceHandler final {
 public:
  // `context` must outlive the handler.
  explicit ProfileServiceHandler(const ServiceContext& context) : context_(context) {}

  // In pages, of all devices or one.
  grpc::Status ListProfiles(grpc::ServerContext* context, const v1::ListProfilesRequest* request,
                            v1::ListProfilesResponse* response);
  // An imported time is believed from then on, by the searches of all tenants: nothing measures it
  // again. One with more samples than ours replaces ours.
  grpc::Status ImportProfiles(grpc::ServerContext* context,
                              const v1::ImportProfilesRequest* request,
                              v1::ImportProfilesResponse* response);
  // Names that are not there are no error: what an operator has listed may be gone by then.
  grpc::Status DropProfiles(grpc::ServerContext* context, const v1::DropProfilesRequest* request,
                            v1::DropProfilesResponse* response);

 private:
  const ServiceContext& context_;
};

}  // namespace plait
