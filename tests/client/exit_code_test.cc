#include "client/exit_code.h"

#include <gtest/gtest.h>

#include "proto/wire/error.h"

namespace plait {
namespace {

v1::Job FailedJob(v1::ErrorReason reason) {
  v1::Job job;
  job.set_state(v1::JOB_STATE_FAILED);
  job.mutable_error()->set_reason(reason);
  return job;
}

TEST(ExitCodeTest, FollowsTheReasonOfAnError) {
  const std::pair<v1::ErrorReason, ExitCode> cases[] = {
      {v1::ERROR_REASON_INVALID_REQUEST, ExitCode::kUsage},
      {v1::ERROR_REASON_MODEL_REJECTED, ExitCode::kModelRejected},
      {v1::ERROR_REASON_DEVICE_UNAVAILABLE, ExitCode::kUnreachable},
      {v1::ERROR_REASON_UNREACHABLE, ExitCode::kUnreachable},
      {v1::ERROR_REASON_UNAUTHENTICATED, ExitCode::kAuthentication},
      {v1::ERROR_REASON_QUOTA_EXCEEDED, ExitCode::kQuota},
      {v1::ERROR_REASON_DEADLINE, ExitCode::kDeadline},
      {v1::ERROR_REASON_CANCELLED, ExitCode::kCancelled},
      {v1::ERROR_REASON_NOT_EQUIVALENT, ExitCode::kNotEquivalent},
      {v1::ERROR_REASON_INTERNAL, ExitCode::kInternal},
  };
  for (const auto& [reason, code] : cases) {
    EXPECT_EQ(ExitCodeOf(wire::Error(reason, "why")), code) << v1::ErrorReason_Name(reason);
  }
  EXPECT_EQ(ExitCodeOf(absl::OkStatus()), ExitCode::kOk);
  EXPECT_EQ(ExitCodeOf(absl::UnavailableError("connection refused")), ExitCode::kUnreachable);
}

TEST(ExitCodeTest, FollowsTheStateOfAJob) {
  EXPECT_EQ(ExitCodeOfJob(FailedJob(v1::ERROR_REASON_INTERNAL)), ExitCode::kJobFailed);
  EXPECT_EQ(ExitCodeOfJob(FailedJob(v1::ERROR_REASON_DEADLINE)), ExitCode::kDeadline);
  EXPECT_EQ(ExitCodeOfJob(FailedJob(v1::ERROR_REASON_MODEL_REJECTED)), ExitCode::kModelRejected);
  v1::Job job;
  job.set_state(v1::JOB_STATE_QUARANTINED);
  EXPECT_EQ(ExitCodeOfJob(job), ExitCode::kJobFailed);
  job.set_state(v1::JOB_STATE_CANCELLED);
  EXPECT_EQ(ExitCodeOfJob(job), ExitCode::kCancelled);
  job.set_state(v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(ExitCodeOfJob(job), ExitCode::kOk);
}

}  // namespace
}  // namespace plait
