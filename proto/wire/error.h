#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "plait/v1/error.pb.h"

// Statuses with a reason. The reason rides in the status as a payload, so that it survives every
// layer that passes the status on. All functions are pure and thread-safe.
namespace plait::wire {

// The gRPC code of a reason, as error.proto documents it; Unknown for a reason that is not known.
absl::StatusCode CodeOf(v1::ErrorReason reason);

// An error with the code that belongs to the reason.
absl::Status Error(v1::ErrorReason reason, absl::string_view message);

// The same status with a reason; OK stays OK.
absl::Status WithReason(const absl::Status& status, v1::ErrorReason reason);

// The reason that `status` carries. Where it carries none, or one of a newer server, the reason
// that its code alone stands for, and INTERNAL for codes that do not say whose fault it was.
v1::ErrorReason ReasonOf(const absl::Status& status);

// Reason and message, for Job.error. The message is made valid UTF-8.
// REQUIRES: `status` is not OK.
v1::ErrorDetail ErrorDetailOf(const absl::Status& status);

// The inverse of ErrorDetailOf, with the code that belongs to the reason.
absl::Status StatusOf(const v1::ErrorDetail& detail);

// `text` cut to at most `bytes_max` bytes at a character's border, with '?' in place of each byte
// that is not part of valid UTF-8: protobuf refuses other strings.
std::string ValidUtf8(absl::string_view text, size_t bytes_max);

}  // namespace plait::wire
