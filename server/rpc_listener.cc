#include "server/rpc_listener.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/file_descriptor.h"
#include "base/status_macros.h"
#include "proto/wire/keepalive.h"

namespace plait {
namespace {

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

// Inflating comes before the size is checked, in gRPC as it is: so nothing is ever inflated. The
// algorithms are refused by name, and the filter that inflates is not there.
void RefuseCompression(grpc::ServerBuilder& builder) {
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
  builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
}

void KeepConnectionsAlive(grpc::ServerBuilder& builder) {
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, wire::kKeepaliveIntervalMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, wire::kKeepaliveTimeoutMs);
  // A watcher may be silent for hours, and its client pings us all the while.
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             wire::kPingIntervalMsMin);
}

}  // namespace

absl::StatusOr<RpcListener> StartRpcListener(const RpcListenerOptions& options) {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  // Otherwise a second server on the same port would start and take half of the calls.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.SetMaxReceiveMessageSize(options.message_bytes_max);
  RefuseCompression(builder);
  KeepConnectionsAlive(builder);
  grpc::ResourceQuota quota("plaitd");
  quota.SetMaxThreads(options.threads_max);
  quota.Resize(static_cast<size_t>(options.transport_bytes_max));
  builder.SetResourceQuota(quota);
  std::vector<int> ports(options.addresses.size(), 0);
  std::string names;
  for (size_t i = 0; i < options.addresses.size(); ++i) {
    const RpcAddress& address = options.addresses[i];
    PLAIT_RETURN_IF_ERROR(CheckSocketIsFree(address.address));
    builder.AddListeningPort(address.address, address.credentials, &ports[i]);
    absl::StrAppend(&names, names.empty() ? "" : ", ", address.address);
  }
  for (grpc::Service* service : options.services) builder.RegisterService(service);
  RpcListener listener;
  listener.server = builder.BuildAndStart();
  if (listener.server == nullptr) {
    return absl::UnavailableError(
        absl::StrCat("listen: cannot listen on ", names, " (is another process using it?)"));
  }
  for (size_t i = 0; i < ports.size(); ++i) {
    const std::string& given = options.addresses[i].address;
    const bool is_socket = absl::StartsWith(given, "unix:");
    listener.addresses.push_back(
        is_socket ? given : absl::StrCat(given.substr(0, given.rfind(':')), ":", ports[i]));
  }
  return listener;
}

}  // namespace plait
