#include "client/exit_code.h"

#include "proto/wire/error.h"

namespace plait {
namespace {

// No default of its own for any reason that scripts tell apart; a reason of a newer server counts
// as internal.
ExitCode ExitCodeOfReason(v1::ErrorReason reason) {
  switch (reason) {
    case v1::ERROR_REASON_INVALID_REQUEST:
    case v1::ERROR_REASON_NOT_FOUND:
    case v1::ERROR_REASON_WRONG_STATE:
    case v1::ERROR_REASON_REQUEST_ID_REUSED:
      return ExitCode::kUsage;
    case v1::ERROR_REASON_MODEL_REJECTED:
    case v1::ERROR_REASON_LIMIT_EXCEEDED:
      return ExitCode::kModelRejected;
    case v1::ERROR_REASON_DEVICE_UNAVAILABLE:
    case v1::ERROR_REASON_DRAINING:
    case v1::ERROR_REASON_STORAGE_UNAVAILABLE:
    case v1::ERROR_REASON_UNREACHABLE:
      return ExitCode::kUnreachable;
    case v1::ERROR_REASON_QUOTA_EXCEEDED:
      return ExitCode::kQuota;
    case v1::ERROR_REASON_CANCELLED:
      return ExitCode::kCancelled;
    case v1::ERROR_REASON_DEADLINE:
      return ExitCode::kDeadline;
    case v1::ERROR_REASON_QUARANTINED:
    case v1::ERROR_REASON_CRASHED:
    case v1::ERROR_REASON_UNSUPPORTED:
      return ExitCode::kJobFailed;
    case v1::ERROR_REASON_NOT_EQUIVALENT:
      return ExitCode::kNotEquivalent;
    case v1::ERROR_REASON_UNAUTHENTICATED:
    case v1::ERROR_REASON_PERMISSION_DENIED:
      return ExitCode::kAuthentication;
    default:
      return ExitCode::kInternal;
  }
}

}  // namespace

ExitCode ExitCodeOf(const absl::Status& status) {
  if (status.ok()) return ExitCode::kOk;
  // A connection that cannot be made has no reason of plait's, only its code.
  if (status.code() == absl::StatusCode::kUnavailable) return ExitCode::kUnreachable;
  return ExitCodeOfReason(wire::ReasonOf(status));
}

ExitCode ExitCodeOfJob(const v1::Job& job) {
  switch (job.state()) {
    case v1::JOB_STATE_SUCCEEDED:
      return ExitCode::kOk;
    case v1::JOB_STATE_CANCELLED:
      return ExitCode::kCancelled;
    case v1::JOB_STATE_FAILED:
      break;
    default:
      return ExitCode::kJobFailed;
  }
  // A job that failed by plait's fault has failed all the same: "internal" is for this program.
  const ExitCode code = ExitCodeOfReason(job.error().reason());
  return code == ExitCode::kInternal ? ExitCode::kJobFailed : code;
}

}  // namespace plait
