#include "server/services/rpc_scope.h"

#include "base/status_macros.h"
#include "proto/wire/grpc_status.h"
#include "proto/wire/names.h"

namespace plait {

grpc::Status AnswerRpc(Metrics& metrics, Clock& clock, absl::string_view method,
                       const std::function<absl::Status()>& body) {
  const absl::Duration began = clock.Monotonic();
  const absl::Status status = body();
  metrics.RpcEnded(method, absl::StatusCodeToString(status.code()), clock.Monotonic() - began);
  return wire::ToGrpcStatus(status);
}

absl::StatusOr<std::string> TenantOf(const grpc::ServerContext& context) {
  const auto found = context.client_metadata().find("plait-tenant");
  if (found == context.client_metadata().end()) return std::string("default");
  const absl::string_view name(found->second.data(), found->second.size());
  PLAIT_RETURN_IF_ERROR(wire::CheckName("plait-tenant", name));
  return std::string(name);
}

}  // namespace plait
