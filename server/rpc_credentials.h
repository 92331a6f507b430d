#pragma once

#include <memory>
#include <string>

#include <grpcpp/security/server_credentials.h>

#include "absl/status/statusor.h"
#include "server/config.h"

namespace plait {

// How a TCP address or configured socket of this server is secured: TLS with the configured
// certificate, or nothing when the configuration says `insecure`.
// With TLS and a `client_ca`, a file, whoever calls must show a certificate that one of its
// authorities has signed.
// Errors: InvalidArgument naming a file that cannot be read.
absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> ListenerCredentials(
    const Config& config, const std::string& client_ca);

}  // namespace plait
