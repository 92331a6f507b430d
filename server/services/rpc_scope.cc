#include "server/services/rpc_scope.h"

#include "base/status_macros.h"
#include "proto/wire/grpc_status.h"
#include "proto/wire/names.h"

namespace plait {
namespace {

// gRPC gives the names of metadata in lower case.
constexpr absl::string_view kTenantKey = "plait-tenant";
constexpr absl::string_view kTenantDefault = "default";

absl::StatusOr<absl::string_view> TenantOf(const grpc::ServerContext& call) {
  const auto found = call.client_metadata().find(grpc::string_ref(kTenantKey.data()));
  if (found == call.client_metadata().end()) return kTenantDefault;
  const absl::string_view name(found->second.data(), found->second.size());
  PLAIT_RETURN_IF_ERROR(wire::CheckName(kTenantKey, name));
  return name;
}

}  // namespace

grpc::Status AnswerRpc(const ServiceContext& context, const grpc::ServerContext& call,
                       Method method, absl::FunctionRef<absl::Status(const Caller& caller)> body) {
  const absl::Duration began = context.clock.Monotonic();
  const absl::Status status = [&]() -> absl::Status {
    PLAIT_ASSIGN_OR_RETURN(const absl::string_view tenant, TenantOf(call));
    PLAIT_ASSIGN_OR_RETURN(const Caller caller, Admit(method, context.caller_roles, tenant));
    return body(caller);
  }();
  // Refused calls count, too: they are what an operator looks for.
  context.metrics.RpcEnded(MethodName(method), absl::StatusCodeToString(status.code()),
                           context.clock.Monotonic() - began);
  return wire::ToGrpcStatus(status);
}

}  // namespace plait
