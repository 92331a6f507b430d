#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "client/client.h"
#include "client/command.h"
#include "client/embedded_server.h"

namespace plait {

// The server that a command works with: a remote one, or one that lives as long as the session.
struct ServerSession {
  std::unique_ptr<EmbeddedServer> embedded;  // null for a remote server
  std::unique_ptr<Client> client;
};

// --server, --tls-ca, --tls-cert, --tls-key.
void AddServerOptions(std::vector<OptionSpec>* options);

// --cache-dir, for commands that can do without a server.
void AddCacheOption(std::vector<OptionSpec>* options);

// Connects to the server that --server or the environment names.
// Errors: InvalidArgument when there is none, or its address is malformed.
absl::StatusOr<ServerSession> ConnectToServer(const CommandContext& context);

// The same, and without a named server an embedded one with a worker for `device`, ready to
// measure. Errors: those of EmbeddedServer::Start; Unavailable when the worker does not come up.
absl::StatusOr<ServerSession> ConnectOrEmbed(const CommandContext& context,
                                             const std::string& device, int threads);

}  // namespace plait
