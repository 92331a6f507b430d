#include "server/rpc_listener.h"

#include <fstream>
#include <sstream>

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/file_descriptor.h"
#include "base/status_macros.h"
#include "server/search_child/protocol/frame.h"

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

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> Credentials(const Config& config) {
  if (config.insecure) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions options;
  PLAIT_ASSIGN_OR_RETURN(const std::string key, ReadPem(config.tls_key));
  PLAIT_ASSIGN_OR_RETURN(const std::string certificate, ReadPem(config.tls_cert));
  options.pem_key_cert_pairs.push_back({key, certificate});
  if (!config.tls_client_ca.empty()) {
    PLAIT_ASSIGN_OR_RETURN(options.pem_root_certs, ReadPem(config.tls_client_ca));
    // A certificate that is not one of these ends the handshake, before any byte of a call.
    options.client_certificate_request = GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY;
  }
  return grpc::SslServerCredentials(options);
}

// gRPC takes a unix socket over from whoever serves it; somebody who answers must be left alone.
absl::Status CheckSocketIsFree(absl::string_view address) {
  if (!absl::ConsumePrefix(&address, "unix:")) return absl::OkStatus();
  sockaddr_un name = {};
  name.sun_family = AF_UNIX;
  if (address.size() >= sizeof(name.sun_path)) {
    return absl::InvalidArgumentError(absl::StrCat("listen: the path of a unix socket may have ",
                                                   sizeof(name.sun_path) - 1, " bytes, ", address,
                                                   " has ", address.size()));
  }
  address.copy(name.sun_path, address.size());
  const FileDescriptor probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (connect(probe.number(), reinterpret_cast<const sockaddr*>(&name), sizeof(name)) != 0) {
    return absl::OkStatus();
  }
  return absl::UnavailableError(absl::StrCat("listen: another process serves ", address));
}

}  // namespace

absl::StatusOr<RpcListener> StartRpcListener(const Config& config, const std::string& worker_socket,
                                             const std::vector<grpc::Service*>& services) {
  PLAIT_RETURN_IF_ERROR(CheckSocketIsFree(config.listen));
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  // Otherwise a second server on the same port would start and take half of the calls.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  // A task carries several graphs with their plans.
  builder.SetMaxReceiveMessageSize(static_cast<int>(kFrameBytesMax));
  int port = 0;
  PLAIT_ASSIGN_OR_RETURN(const std::shared_ptr<grpc::ServerCredentials> credentials,
                         Credentials(config));
  builder.AddListeningPort(config.listen, credentials, &port);
  builder.AddListeningPort(absl::StrCat("unix:", worker_socket), grpc::InsecureServerCredentials());
  // The same services on both doors.
  for (grpc::Service* service : services) builder.RegisterService(service);
  RpcListener listener;
  listener.server = builder.BuildAndStart();
  if (listener.server == nullptr) {
    return absl::UnavailableError(absl::StrCat("listen: cannot listen on ", config.listen,
                                               " (is another process using it?)"));
  }
  listener.address = config.listen;
  if (!absl::StartsWith(config.listen, "unix:")) {
    listener.address = absl::StrCat(config.listen.substr(0, config.listen.rfind(':')), ":", port);
  }
  return listener;
}

}  // namespace plait
