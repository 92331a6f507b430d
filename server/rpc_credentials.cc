#include "server/rpc_credentials.h"

#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace plait {
namespace {

absl::StatusOr<std::string> ReadPem(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file || text.str().empty()) {
    return absl::InvalidArgumentError(absl::StrCat("TLS: ", path, " cannot be read"));
  }
  return text.str();
}

}  // namespace

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> ListenerCredentials(
    const Config& config, const std::string& client_ca) {
  if (IsPlaintext(config)) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions options;
  PLAIT_ASSIGN_OR_RETURN(const std::string key, ReadPem(config.tls_key));
  PLAIT_ASSIGN_OR_RETURN(const std::string certificate, ReadPem(config.tls_cert));
  options.pem_key_cert_pairs.push_back({key, certificate});
  if (!client_ca.empty()) {
    PLAIT_ASSIGN_OR_RETURN(options.pem_root_certs, ReadPem(client_ca));
    // A certificate that is not one of these ends the handshake, before any byte of a call.
    options.client_certificate_request = GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY;
  }
  return grpc::SslServerCredentials(options);
}

}  // namespace plait
