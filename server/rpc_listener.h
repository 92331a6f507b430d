#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>

#include "absl/status/statusor.h"

namespace plait {

// Where a server is reached, and what callers have to show there.
struct RpcAddress {
  std::string address;  // "host:port" or "unix:/path"; port 0 takes a free one
  std::shared_ptr<grpc::ServerCredentials> credentials;
};

// All that a caller can make a server hold is bounded here.
struct RpcListenerOptions {
  std::vector<RpcAddress> addresses;
  // Of one message that comes in; a larger one is refused before it is read. gRPC refuses it
  // without a reason of ours: RESOURCE_EXHAUSTED.
  int message_bytes_max = 0;
  // Threads that answer calls; a call that finds none is refused with RESOURCE_EXHAUSTED. Health is
  // answered by others.
  int threads_max = 0;
  // Of the bytes that are on their way: when they are more, gRPC reads more slowly, and then closes
  // connections.
  int64_t transport_bytes_max = 0;
  // Borrowed; must outlive the server.
  std::vector<grpc::Service*> services;
};

// A running gRPC server and where it listens.
// Must be shut down before the services that it serves are destroyed.
struct RpcListener {
  std::unique_ptr<grpc::Server> server;
  std::vector<std::string> addresses;  // as in the options, with the ports in use
};

// Serves on all addresses, with health and reflection.
// Errors: InvalidArgument for a path that is too long for a socket; Unavailable naming the address
// when it cannot be used.
//
// A unix socket that somebody answers on is left alone; one of a dead daemon is taken over.
// A connection whose other end is gone without a word is closed, with its calls, after 30 s.
// Messages that are compressed are refused (UNIMPLEMENTED) and never inflated: a few kilobytes
// could become gigabytes.
absl::StatusOr<RpcListener> StartRpcListener(const RpcListenerOptions& options);

}  // namespace plait
