#include "proto/wire/error.h"

#include <algorithm>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "plait/internal/rpc_status.pb.h"
#include "proto/wire/error_details.h"

namespace plait::wire {
namespace {

constexpr absl::string_view kReasonPrefix = "ERROR_REASON_";

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

// How long a client waits before the same call may succeed; zero where waiting changes nothing.
absl::Duration RetryDelayOf(v1::ErrorReason reason) {
  switch (reason) {
    // 5 s: a server that stops gives its calls 3 s to end, and needs a moment to start.
    case v1::ERROR_REASON_DRAINING:
      return absl::Seconds(5);
    // 10 s: a worker that is started again opens its device first, for a GPU with a gigabyte of
    // libraries.
    case v1::ERROR_REASON_DEVICE_UNAVAILABLE:
      return absl::Seconds(10);
    // 10 s: mostly a full disk, and somebody who has to make room on it.
    case v1::ERROR_REASON_STORAGE_UNAVAILABLE:
      return absl::Seconds(10);
    // 30 s: a place becomes free when a job ends; a job takes about a minute, so the next one ends
    // after half of that.
    case v1::ERROR_REASON_QUOTA_EXCEEDED:
      return absl::Seconds(30);
    default:
      return absl::ZeroDuration();
  }
}

void SetDetail(absl::Status& status, absl::string_view type_url,
               const google::protobuf::Message& detail) {
  status.SetPayload(type_url, absl::Cord(detail.SerializeAsString()));
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

absl::Status FieldError(absl::string_view field, absl::string_view description) {
  absl::Status status =
      Error(v1::ERROR_REASON_INVALID_REQUEST, absl::StrCat(field, ": ", description));
  internal::BadRequest detail;
  internal::BadRequest::FieldViolation& violation = *detail.add_field_violations();
  violation.set_field(ValidUtf8(field, kViolationTextBytesMax));
  violation.set_description(ValidUtf8(description, kViolationTextBytesMax));
  SetDetail(status, kBadRequestUrl, detail);
  return status;
}

absl::Status MissingBlobError(const Digest& digest, absl::string_view message) {
  absl::Status status = Error(v1::ERROR_REASON_BLOB_MISSING, message);
  internal::PreconditionFailure detail;
  internal::PreconditionFailure::Violation& violation = *detail.add_violations();
  violation.set_type("MISSING");
  violation.set_subject(absl::StrCat("blobs/", digest.ToString()));
  violation.set_description(ValidUtf8(message, kViolationTextBytesMax));
  SetDetail(status, kPreconditionFailureUrl, detail);
  return status;
}

absl::Status WithReason(const absl::Status& status, v1::ErrorReason reason) {
  absl::Status result = status;
  result.ErasePayload(kErrorInfoUrl);
  result.ErasePayload(kRetryInfoUrl);
  // One of a newer server, in a job's error: its code is all that can be said.
  if (CodeOf(reason) == absl::StatusCode::kUnknown) return result;
  internal::ErrorInfo info;
  info.set_reason(ReasonName(reason));
  info.set_domain(std::string(kErrorDomain));
  SetDetail(result, kErrorInfoUrl, info);
  const absl::Duration delay = RetryDelayOf(reason);
  // Storage that is damaged stays so.
  if (delay == absl::ZeroDuration() || absl::IsDataLoss(status)) return result;
  internal::RetryInfo retry;
  retry.mutable_retry_delay()->set_seconds(absl::ToInt64Seconds(delay));
  SetDetail(result, kRetryInfoUrl, retry);
  return result;
}

v1::ErrorReason ReasonOf(const absl::Status& status) {
  const auto payload = status.GetPayload(kErrorInfoUrl);
  internal::ErrorInfo info;
  v1::ErrorReason reason = v1::ERROR_REASON_UNSPECIFIED;
  if (payload && info.ParseFromString(std::string(*payload)) && info.domain() == kErrorDomain &&
      v1::ErrorReason_Parse(absl::StrCat(kReasonPrefix, info.reason()), &reason) &&
      reason != v1::ERROR_REASON_UNSPECIFIED) {
    return reason;
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

std::string ReasonName(v1::ErrorReason reason) {
  return std::string(absl::StripPrefix(v1::ErrorReason_Name(reason), kReasonPrefix));
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
