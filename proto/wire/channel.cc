#include "proto/wire/channel.h"

#include <fstream>
#include <sstream>

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "proto/wire/address.h"
#include "proto/wire/keepalive.h"

namespace plait::wire {
namespace {

absl::StatusOr<std::string> ReadPem(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  if (file && !text.str().empty()) return text.str();
  return absl::NotFoundError(absl::StrCat("TLS: ", path, " cannot be read"));
}

absl::Status CheckAddress(absl::string_view address) {
  if (absl::StartsWith(address, "unix:") && address.size() > 5) return absl::OkStatus();
  const size_t colon = address.rfind(':');
  int port = 0;
  if (colon == absl::string_view::npos || colon == 0 ||
      !absl::SimpleAtoi(address.substr(colon + 1), &port) || port < 1 || port > 65535) {
    return absl::InvalidArgumentError(
        absl::StrCat("--server: expected HOST:PORT or unix:PATH, is \"", address, "\""));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> Credentials(const ServerAddress& server) {
  if (server.insecure) {
    if (server.ca_file.empty() && server.cert_file.empty() && server.key_file.empty()) {
      return grpc::InsecureChannelCredentials();
    }
    return absl::InvalidArgumentError("--insecure: means no TLS (leave out --tls-ca and the like)");
  }
  // Nothing leaves the machine.
  if (IsLocalAddress(server.address) && server.ca_file.empty()) {
    return grpc::InsecureChannelCredentials();
  }
  grpc::SslCredentialsOptions options;
  if (!server.ca_file.empty()) {
    PLAIT_ASSIGN_OR_RETURN(options.pem_root_certs, ReadPem(server.ca_file));
  }
  // One without the other would silently connect without a certificate.
  if (server.cert_file.empty() != server.key_file.empty()) {
    return absl::InvalidArgumentError("--tls-cert and --tls-key are given together or not at all");
  }
  if (!server.cert_file.empty()) {
    PLAIT_ASSIGN_OR_RETURN(options.pem_cert_chain, ReadPem(server.cert_file));
    PLAIT_ASSIGN_OR_RETURN(options.pem_private_key, ReadPem(server.key_file));
  }
  return grpc::SslCredentials(options);
}

}  // namespace

absl::StatusOr<std::shared_ptr<grpc::Channel>> OpenChannel(const ServerAddress& server) {
  PLAIT_RETURN_IF_ERROR(CheckAddress(server.address));
  PLAIT_ASSIGN_OR_RETURN(const auto credentials, Credentials(server));
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(server.message_bytes_max);
  // gRPC would wait a second before it looks again for a server that is just starting.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  // In spite of its name, what one attempt may take: a far server, or one under load, answers late.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 5000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2000);
  // Without these a call that waits for its answer would wait for ever for a server that is gone.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveIntervalMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  // http_proxy is for other machines: to this one it would lead plain text out, and not back.
  if (IsLocalAddress(server.address)) arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return grpc::CreateCustomChannel(server.address, credentials, arguments);
}

}  // namespace plait::wire
