#pragma once

#include "absl/strings/string_view.h"

// The type URLs of the error details that plait sends, under which they are payloads of a status
// and lie in google.rpc.Status. A client's library finds them by these names.
namespace plait::wire {

inline constexpr absl::string_view kErrorInfoUrl = "type.googleapis.com/google.rpc.ErrorInfo";
inline constexpr absl::string_view kRetryInfoUrl = "type.googleapis.com/google.rpc.RetryInfo";
inline constexpr absl::string_view kBadRequestUrl = "type.googleapis.com/google.rpc.BadRequest";
inline constexpr absl::string_view kPreconditionFailureUrl =
    "type.googleapis.com/google.rpc.PreconditionFailure";

// Whose reasons ours are; see google.rpc.ErrorInfo.
inline constexpr absl::string_view kErrorDomain = "plait";

}  // namespace plait::wire
