#pragma once

#include <memory>
#include <string>
#include <vector>

#include <grpcpp/server.h>

#include "absl/status/statusor.h"
#include "server/config.h"

namespace plait {

// A running gRPC server and where it listens.
struct RpcListener {
  std::unique_ptr<grpc::Server> server;
  std::string address;  // as in the configuration, with the port in use
};

// Serves `services` on the configured address, and without TLS on the unix socket `worker_socket`
// for this machine's workers.
// Errors: InvalidArgument for certificates that cannot be read; Unavailable naming the address when
// it cannot be used.
absl::StatusOr<RpcListener> StartRpcListener(const Config& config, const std::string& worker_socket,
                                             const std::vector<grpc::Service*>& services);

}  // namespace plait
