#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/services/method.h"
#include "server/services/service_context.h"

namespace plait {

// Answers one RPC. Every handler is one call of this function, so that none can forget what all
// have in common: it reads the caller's tenant from the metadata "plait-tenant" ("default" when
// there is none; until there are credentials, whoever reaches the server may choose it), refuses
// callers whose role does not allow the method, runs `body` for the others, turns the status into
// gRPC's, and counts and times the call, also one that was refused.
//
// `body` returns what the RPC documents; it may take as long as the RPC does. Thread-safe.
// Errors: besides those of `body`, InvalidArgument for a malformed tenant and PermissionDenied.
grpc::Status AnswerRpc(const ServiceContext& context, const grpc::ServerContext& call,
                       Method method, absl::FunctionRef<absl::Status(const Caller& caller)> body);

// A name that the caller says in the call's metadata under `key`, in lower case; `absent` when
// there is none. Errors: InvalidArgument for a malformed name.
absl::StatusOr<absl::string_view> NameInMetadata(const grpc::ServerContext& call,
                                                 absl::string_view key, absl::string_view absent);

}  // namespace plait
