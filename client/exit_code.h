#pragma once

#include "absl/status/status.h"
#include "plait/v1/optimization.pb.h"

namespace plait {

// What the program exits with; scripts depend on the numbers.
enum class ExitCode : int {
  // Numbers are never reused for another meaning; docs/cli.md lists them.
  kOk = 0,
  kInternal = 1,
  kUsage = 2,
  kModelRejected = 3,
  kGateFailed = 4,
  kInconclusive = 5,
  kJobFailed = 6,
  kCancelled = 7,
  kDeadline = 8,
  kUnreachable = 9,
  kAuthentication = 10,
  kQuota = 11,
  kNotEquivalent = 12,
};

// The exit code of a call that failed, by its reason. kOk for an OK status.
// By the reason and not the code, because several reasons share a code; Unavailable alone is
// "unreachable" whatever the reason.
ExitCode ExitCodeOf(const absl::Status& status);

// The exit code of a job that is over: faults of plait itself count as a failed job.
// REQUIRES: the job's state is final.
// A job that was quarantined counts as failed as well.
ExitCode ExitCodeOfJob(const v1::Job& job);

}  // namespace plait
