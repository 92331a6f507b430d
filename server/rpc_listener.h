#pragma once

#include <memory>
#include <string>
#include <vector>

#include <grpcpp/server.h>

#include "absl/status/statusor.h"
#include "server/config.h"

namespace plait {

// A running gRPC server and where it listens.
// Must be shut down before the services that it serves are destroyed.
struct RpcListener {
  std::unique_ptr<grpc::Server> server;
  std::string address;  // as in the configuration, with the port in use
};

// Serves `services` on the configured address, and without TLS on the unix socket `worker_socket`
// for this machine's workers.
// Errors: InvalidArgument for certificates that cannot be read; Unavailable naming the address when
// it cannot be used.
//
// The unix socket has no credentials: whoever may enter the data directory (mode 0700) may call it.
// A configured one that somebody answers on is left alone; one of a dead daemon is taken
// over. Messages may have kFrameBytesMax bytes, because a task carries several plans with their
// graphs. `services` are borrowed and must outlive the server.
absl::StatusOr<RpcListener> StartRpcListener(const Config& config, const std::string& worker_socket,
                                             const std::vector<grpc::Service*>& services);

}  // namespace plait
