#pragma once

#include <memory>

#include "client/client.h"
#include "plait/v1/blob.grpc.pb.h"
#include "plait/v1/capability.grpc.pb.h"
#include "plait/v1/optimization.grpc.pb.h"
#include "plait/v1/profile.grpc.pb.h"

namespace plait {

// gRPC's side of a Client, apart from its header: few of those who use one read gRPC's headers, and
// reading them takes the compiler as long as all the rest. Thread-safe.
struct Client::Stubs {
  const std::unique_ptr<v1::OptimizationService::Stub> optimization;
  const std::unique_ptr<v1::BlobService::Stub> blobs;
  const std::unique_ptr<v1::CapabilityService::Stub> capabilities;
  const std::unique_ptr<v1::ProfileService::Stub> profiles;
};

}  // namespace plait
