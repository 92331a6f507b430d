#include "proto/wire/task_error.h"

#include <gtest/gtest.h>

#include "proto/wire/error.h"

namespace plait::wire {
namespace {

worker::v1::TaskError ErrorWithCode(int code) {
  worker::v1::TaskError error;
  error.set_code(code);
  error.set_message("conv3: does not fit");
  return error;
}

TEST(TaskErrorTest, EachCodeHasTheReasonThatTheContractNames) {
  const std::pair<absl::StatusCode, v1::ErrorReason> kCases[] = {
      {absl::StatusCode::kCancelled, v1::ERROR_REASON_INTERNAL},
      {absl::StatusCode::kUnknown, v1::ERROR_REASON_INTERNAL},
      {absl::StatusCode::kInvalidArgument, v1::ERROR_REASON_INTERNAL},
      {absl::StatusCode::kDeadlineExceeded, v1::ERROR_REASON_DEADLINE},
      {absl::StatusCode::kNotFound, v1::ERROR_REASON_INTERNAL},
      {absl::StatusCode::kAlreadyExists, v1::ERROR_REASON_INTERNAL},
      {absl::StatusCode::kPermissionDenied, v1::ERROR_REASON_INTERNAL},
      {absl::StatusCode::kResourceExhausted, v1::ERROR_REASON_LIMIT_EXCEEDED},
      {absl::StatusCode::kFailedPrecondition, v1::ERROR_REASON_DEVICE_UNAVAILABLE},
      {absl::StatusCode::kAborted, v1::ERROR_REASON_CRASHED},
      {absl::StatusCode::kUnimplemented, v1::ERROR_REASON_UNSUPPORTED},
      {absl::StatusCode::kInternal, v1::ERROR_REASON_INTERNAL},
      {absl::StatusCode::kUnavailable, v1::ERROR_REASON_DEVICE_UNAVAILABLE},
      {absl::StatusCode::kDataLoss, v1::ERROR_REASON_INTERNAL},
      {absl::StatusCode::kUnauthenticated, v1::ERROR_REASON_INTERNAL},
  };
  for (const auto& [code, reason] : kCases) {
    const absl::Status status = StatusOfTask(ErrorWithCode(static_cast<int>(code)));
    EXPECT_EQ(status, Error(reason, "conv3: does not fit")) << code;
  }
}

// The search calls InvalidArgument its own fault.
TEST(TaskErrorTest, AnInputThatDoesNotFitIsTheClientsFaultAndKeepsItsCode) {
  const absl::Status status =
      StatusOfTask(ErrorWithCode(static_cast<int>(absl::StatusCode::kOutOfRange)));
  EXPECT_EQ(ReasonOf(status), v1::ERROR_REASON_INVALID_REQUEST);
  EXPECT_TRUE(absl::IsOutOfRange(status)) << status;
}

// The search goes on without what does not end, where it can, and so asks for the code.
TEST(TaskErrorTest, WhatHangsIsATaskThatEndedItsWorkerAndKeepsItsCode) {
  worker::v1::TaskError hang = ErrorWithCode(static_cast<int>(absl::StatusCode::kDeadlineExceeded));
  hang.set_hangs(true);
  const absl::Status status = StatusOfTask(hang);
  EXPECT_EQ(ReasonOf(status), v1::ERROR_REASON_CRASHED);
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  hang.set_code(static_cast<int>(absl::StatusCode::kUnimplemented));
  EXPECT_EQ(ReasonOf(StatusOfTask(hang)), v1::ERROR_REASON_UNSUPPORTED) << "of a lie";
}

TEST(TaskErrorTest, ACodeThatIsNoErrorIsOneAllTheSame) {
  for (const int code : {0, -1, 17, 1000}) {
    EXPECT_EQ(ReasonOf(StatusOfTask(ErrorWithCode(code))), v1::ERROR_REASON_INTERNAL) << code;
  }
}

}  // namespace
}  // namespace plait::wire
