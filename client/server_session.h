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
  // Stands first, so that it outlives the client that calls it.
  std::unique_ptr<EmbeddedServer> embedded;  // null for a remote server
  std::unique_ptr<Client> client;
};

// --server, --tls-ca, --tls-cert, --tls-key, --insecure.
void AddServerOptions(std::vector<OptionSpec>* options);

// --cache-dir and --instruction-set, for commands that can do without a server.
void AddEmbeddedOptions(std::vector<OptionSpec>* options);

// Connects to the server that --server or the environment names.
// Errors: InvalidArgument when there is none, or its address is malformed.
// Nothing is sent yet: a server that is not there is found by the first call.
absl::StatusOr<ServerSession> ConnectToServer(const CommandContext& context);

// The same, and without a named server an embedded one with a worker for `device`, ready to
// measure. Errors: InvalidArgument for an option that means nothing to a named server; those of
// EmbeddedServer::Start; Unavailable when the worker does not come up.
// Jobs that earlier programs left in the embedded server's store are cancelled first, because
// nobody waits for them. Blocks until the worker has called.
absl::StatusOr<ServerSession> ConnectOrEmbed(const CommandContext& context,
                                             const std::string& device, int threads);

}  // namespace plait
