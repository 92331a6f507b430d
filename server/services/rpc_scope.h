#pragma once

#include <functional>
#include <string>

#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "server/telemetry/metrics.h"

namespace plait {

// Answers one RPC: runs `body`, turns its status into gRPC's, counts and times it.
grpc::Status AnswerRpc(Metrics& metrics, Clock& clock, absl::string_view method,
                       const std::function<absl::Status()>& body);

// The tenant that a call acts for: the metadata "plait-tenant", or "default". Until there are
// credentials, whoever reaches the server may choose it.
// Errors: InvalidArgument for a malformed name.
absl::StatusOr<std::string> TenantOf(const grpc::ServerContext& context);

}  // namespace plait
