#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/digest.h"
#include "plait/v1/error.pb.h"

// Statuses that say to programs what went wrong. Reason and details ride in the status as payloads,
// each a message of google.rpc under its type URL, so that they survive every layer that passes the
// status on and reach the client as they are. All functions are pure and thread-safe.
namespace plait::wire {

// The gRPC code of a reason, as error.proto documents it; Unknown for a reason that is not known.
absl::StatusCode CodeOf(v1::ErrorReason reason);

// An error with the code that belongs to the reason. With a reason that a retry may mend, also the
// time to wait for.
absl::Status Error(v1::ErrorReason reason, absl::string_view message);

// InvalidArgument (INVALID_REQUEST) about one field of a request, named by its path from there:
// "options.threads". The message is "<field>: <description>".
absl::Status FieldError(absl::string_view field, absl::string_view description);

// FailedPrecondition (BLOB_MISSING) that names the blob for programs, too.
absl::Status MissingBlobError(const Digest& digest, absl::string_view message);

// The same status with another reason, and with the wait that belongs to it; OK stays OK. The code
// is the caller's choice, for a reason that has several.
absl::Status WithReason(const absl::Status& status, v1::ErrorReason reason);

// The reason that `status` carries. Where it carries none, or one of a newer server, the reason
// that its code alone stands for, and INTERNAL for codes that do not say whose fault it was.
v1::ErrorReason ReasonOf(const absl::Status& status);

// Reason and message, for Job.error. The message is made valid UTF-8.
// REQUIRES: `status` is not OK.
v1::ErrorDetail ErrorDetailOf(const absl::Status& status);

// The inverse of ErrorDetailOf, with the code that belongs to the reason.
absl::Status StatusOf(const v1::ErrorDetail& detail);

// "MODEL_REJECTED": a reason without its prefix; empty for a reason that is not known.
std::string ReasonName(v1::ErrorReason reason);

// `text` cut to at most `bytes_max` bytes at a character's border, with '?' in place of each byte
// that is not part of valid UTF-8: protobuf refuses other strings.
std::string ValidUtf8(absl::string_view text, size_t bytes_max);

}  // namespace plait::wire
