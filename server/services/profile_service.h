#pragma once

#include "plait/v1/profile.grpc.pb.h"
#include "server/services/service_context.h"

namespace plait {

// Measured kernel times, to carry from one server to another. See profile.proto. Thread-safe.
class ProfileServiceHandler final : public v1::ProfileService::Service {
 public:
  explicit ProfileServiceHandler(const ServiceContext& context) : context_(context) {}

  grpc::Status ListProfiles(grpc::ServerContext* context, const v1::ListProfilesRequest* request,
                            v1::ListProfilesResponse* response) override;
  grpc::Status ImportProfiles(grpc::ServerContext* context,
                              const v1::ImportProfilesRequest* request,
                              v1::ImportProfilesResponse* response) override;

 private:
  const ServiceContext& context_;
};

}  // namespace plait
