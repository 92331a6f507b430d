#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "plait/v1/optimization.pb.h"

// The options of a job. All functions are pure and thread-safe.
namespace plait::wire {

// The names accepted, in the order in which help texts show them; the default is the last of the
// policies, and the first of the precisions, but for a request that says how much may be lost, and
// of the bodies.
absl::Span<const absl::string_view> SearchPolicies();
absl::Span<const absl::string_view> SchedulePolicies();
// Of both, where a job names none.
constexpr absl::string_view kPolicyDefault = "plait";
absl::Span<const absl::string_view> Precisions();
absl::Span<const absl::string_view> Bodies();

// The options with each default filled in that does not depend on the server (names of policies,
// device, precision and what it may lose, body, portable); budget and threads may stay 0.
// Errors: InvalidArgument naming the field, what it is and what is allowed; also for a field that
// this build does not know.
absl::StatusOr<v1::OptimizeOptions> CheckedOptions(const v1::OptimizeOptions& options);

// 64 hex digits; equal for options that must give equal results, so `no_result_cache` has no part.
// REQUIRES: `options` came from CheckedOptions.
std::string OptionsHash(const v1::OptimizeOptions& options);

// 64 hex digits over any message, the same whatever order its maps are kept in.
std::string MessageHash(const google::protobuf::Message& message);

}  // namespace plait::wire
