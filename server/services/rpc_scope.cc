#include "server/services/rpc_scope.h"

#include "base/status_macros.h"
#include "proto/wire/grpc_status.h"
#include "proto/wire/names.h"

namespace plait {
namespace {

constexpr absl::string_view kTenantKey = "plait-tenant";
constexpr absl::string_view kTenantDefault = "default";

}  // namespace

grpc::Status AnswerRpc(const ServiceContext& context, const grpc::ServerContext& call,
                       Method method, absl::FunctionRef<absl::Status(const Caller& caller)> body) {
  const absl::Duration began = context.clock.Monotonic();
  const absl::Status status = [&]() -> absl::Status {
    PLAIT_ASSIGN_OR_RETURN(const absl::string_view tenant,
                           NameInMetadata(call, kTenantKey, kTenantDefault));
    PLAIT_ASSIGN_OR_RETURN(const Caller caller, Admit(method, context.caller_roles, tenant));
    return body(caller);
  }();
  // Refused calls count, too: they are what an operator looks for.
  context.metrics.RpcEnded(MethodName(method), absl::StatusCodeToString(status.code()),
                           context.clock.Monotonic() - began);
  return wire::ToGrpcStatus(status);
}

absl::StatusOr<absl::string_view> NameInMetadata(const grpc::ServerContext& call,
                                                 absl::string_view key, absl::string_view absent) {
  const auto found = call.client_metadata().find(grpc::string_ref(key.data(), key.size()));
  if (found == call.client_metadata().end()) return absent;
  const absl::string_view name(found->second.data(), found->second.size());
  PLAIT_RETURN_IF_ERROR(wire::CheckName(key, name));
  return name;
}

}  // namespace plait
