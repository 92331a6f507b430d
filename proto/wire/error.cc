#include "proto/wire/error.h"

#include <algorithm>
#include <optional>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/limits.h"
#include "base/status_macros.h"

namespace plait::wire {
namespace {

constexpr absl::string_view kReasonUrl = "plait.v1.ErrorReason";

struct ReasonCode {
  v1::ErrorReason reason;
  absl::StatusCode code;
};

constexpr ReasonCode kReasonCodes[] = {
    {v1::ERROR_REASON_INTERNAL, absl::StatusCode::kInternal},
    {v1::ERROR_REASON_INVALID_REQUEST, absl::StatusCode::kInvalidArgument},
    {v1::ERROR_REASON_MODEL_REJECTED, absl::StatusCode::kInvalidArgument},
    {v1::ERROR_REASON_LIMIT_EXCEEDED, absl::StatusCode::kResourceExhausted},
    {v1::ERROR_REASON_WRONG_STATE, absl::StatusCode::kFailedPrecondition},
    {v1::ERROR_REASON_BLOB_MISSING, absl::StatusCode::kFailedPrecondition},
    {v1::ERROR_REASON_BLOB_CORRUPT, absl::StatusCode::kDataLoss},
    {v1::ERROR_REASON_STORAGE_UNAVAILABLE, absl::StatusCode::kUnavailable},
    {v1::ERROR_REASON_DEVICE_UNAVAILABLE, absl::StatusCode::kUnavailable},
    {v1::ERROR_REASON_QUOTA_EXCEEDED, absl::StatusCode::kResourceExhausted},
    {v1::ERROR_REASON_NOT_FOUND, absl::StatusCode::kNotFound},
    {v1::ERROR_REASON_REQUEST_ID_REUSED, absl::StatusCode::kAlreadyExists},
    {v1::ERROR_REASON_STALE_ATTEMPT, absl::StatusCode::kAborted},
    {v1::ERROR_REASON_CANCELLED, absl::StatusCode::kCancelled},
    {v1::ERROR_REASON_DEADLINE, absl::StatusCode::kDeadlineExceeded},
    {v1::ERROR_REASON_QUARANTINED, absl::StatusCode::kAborted},
    {v1::ERROR_REASON_NOT_EQUIVALENT, absl::StatusCode::kDataLoss},
    {v1::ERROR_REASON_UNAUTHENTICATED, absl::StatusCode::kUnauthenticated},
    {v1::ERROR_REASON_PERMISSION_DENIED, absl::StatusCode::kPermissionDenied},
    {v1::ERROR_REASON_DRAINING, absl::StatusCode::kUnavailable},
    {v1::ERROR_REASON_CRASHED, absl::StatusCode::kAborted},
    {v1::ERROR_REASON_UNSUPPORTED, absl::StatusCode::kUnimplemented},
    {v1::ERROR_REASON_UNREACHABLE, absl::StatusCode::kUnavailable},
};

// What a code means that gRPC, a library or the system chose, and that nobody gave a reason. A code
// that plait gives to several reasons says nothing about which it was.
v1::ErrorReason ReasonOfCode(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
      return v1::ERROR_REASON_INVALID_REQUEST;
    case absl::StatusCode::kNotFound:
      return v1::ERROR_REASON_NOT_FOUND;
    // gRPC refuses messages beyond its limits so.
    case absl::StatusCode::kResourceExhausted:
      return v1::ERROR_REASON_LIMIT_EXCEEDED;
    case absl::StatusCode::kCancelled:
      return v1::ERROR_REASON_CANCELLED;
    case absl::StatusCode::kDeadlineExceeded:
      return v1::ERROR_REASON_DEADLINE;
    // gRPC answers a method that it does not know so.
    case absl::StatusCode::kUnimplemented:
      return v1::ERROR_REASON_UNSUPPORTED;
    // A connection that broke or was never made.
    case absl::StatusCode::kUnavailable:
      return v1::ERROR_REASON_UNREACHABLE;
    case absl::StatusCode::kUnauthenticated:
      return v1::ERROR_REASON_UNAUTHENTICATED;
    case absl::StatusCode::kPermissionDenied:
      return v1::ERROR_REASON_PERMISSION_DENIED;
    // Aborted, AlreadyExists, DataLoss and FailedPrecondition too: an attempt that is over, a
    // request id, an upload and a job's state are named where they are met, so it is none of them.
    default:
      return v1::ERROR_REASON_INTERNAL;
  }
}

// The length of the UTF-8 character at the front of `text`, 0 when there is none. Overlong forms,
// surrogates and code points above U+10FFFF are none (RFC 3629).
size_t CharacterBytes(absl::string_view text) {
  const auto byte = [&](size_t index) { return static_cast<unsigned char>(text[index]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  const size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (text.size() < length) return 0;
  for (size_t index = 1; index < length; ++index) {
    if ((byte(index) & 0xC0) != 0x80) return 0;
  }
  if ((lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xED && byte(1) > 0x9F)) return 0;
  if ((lead == 0xF0 && byte(1) < 0x90) || (lead == 0xF4 && byte(1) > 0x8F)) return 0;
  return length;
}

}  // namespace

absl::StatusCode CodeOf(v1::ErrorReason reason) {
  for (const ReasonCode& entry : kReasonCodes) {
    if (entry.reason == reason) return entry.code;
  }
  return absl::StatusCode::kUnknown;
}

// Code and reason always fit: the code is the reason's.
absl::Status Error(v1::ErrorReason reason, absl::string_view message) {
  return WithReason(absl::Status(CodeOf(reason), message), reason);
}

absl::Status WithReason(const absl::Status& status, v1::ErrorReason reason) {
  absl::Status result = status;
  result.SetPayload(kReasonUrl, absl::Cord(absl::StrCat(static_cast<int>(reason))));
  return result;
}

v1::ErrorReason ReasonOf(const absl::Status& status) {
  if (const auto payload = status.GetPayload(kReasonUrl)) {
    int number = 0;
    if (absl::SimpleAtoi(std::string(*payload), &number) && v1::ErrorReason_IsValid(number)) {
      return static_cast<v1::ErrorReason>(number);
    }
  }
  return ReasonOfCode(status.code());
}

v1::ErrorDetail ErrorDetailOf(const absl::Status& status) {
  PLAIT_CHECK(!status.ok());
  v1::ErrorDetail detail;
  detail.set_reason(ReasonOf(status));
  detail.set_message(ValidUtf8(status.message(), kEvidenceBytesMax));
  return detail;
}

absl::Status StatusOf(const v1::ErrorDetail& detail) {
  return Error(detail.reason(), detail.message());
}

std::string ValidUtf8(absl::string_view text, size_t bytes_max) {
  std::string valid;
  while (!text.empty()) {
    const size_t length = CharacterBytes(text);
    const size_t taken = std::max<size_t>(length, 1);
    if (valid.size() + taken > bytes_max) break;
    if (length == 0) {
      valid.push_back('?');
    } else {
      valid.append(text.data(), length);
    }
    text.remove_prefix(taken);
  }
  return valid;
}

}  // namespace plait::wire
