#include "server/search_child/failure_reason.h"

#include <gtest/gtest.h>

#include "proto/wire/error.h"
#include "proto/wire/task_error.h"

namespace plait {
namespace {

TEST(FailureReasonTest, AModelIsRejectedUnlessItMeetsALimit) {
  const auto reason_of = [](const absl::Status& status) {
    return wire::ReasonOf(ModelFailure(status));
  };
  EXPECT_EQ(reason_of(absl::InvalidArgumentError("")), v1::ERROR_REASON_MODEL_REJECTED);
  EXPECT_EQ(reason_of(absl::UnimplementedError("")), v1::ERROR_REASON_MODEL_REJECTED);
  EXPECT_EQ(reason_of(absl::ResourceExhaustedError("")), v1::ERROR_REASON_LIMIT_EXCEEDED);
}

TEST(FailureReasonTest, ASearchFailsByItsDeviceOrByPlait) {
  const auto reason_of = [](const absl::Status& status) {
    return wire::ReasonOf(SearchFailure(status, v1::OptimizeOptions()));
  };
  EXPECT_EQ(reason_of(absl::FailedPreconditionError("")), v1::ERROR_REASON_UNSUPPORTED);
  EXPECT_EQ(reason_of(absl::ResourceExhaustedError("")), v1::ERROR_REASON_LIMIT_EXCEEDED);
  EXPECT_EQ(reason_of(absl::InvalidArgumentError("")), v1::ERROR_REASON_INTERNAL);
  EXPECT_EQ(reason_of(absl::InternalError("")), v1::ERROR_REASON_INTERNAL);
}

TEST(FailureReasonTest, ANodeWithoutKernelsSaysWhyTheyFailed) {
  const absl::Status status =
      SearchFailure(absl::FailedPreconditionError("%y (Conv): the device has no kernel"),
                    v1::OptimizeOptions(), {"out of memory", "no such tile"});
  EXPECT_EQ(wire::ReasonOf(status), v1::ERROR_REASON_UNSUPPORTED);
  EXPECT_EQ(status.message(),
            "%y (Conv): the device has no kernel (kernels failed: out of memory; no such tile)");
}

TEST(FailureReasonTest, ASearchThatRepeatsAnotherFailsByItsLog) {
  v1::OptimizeOptions options;
  options.mutable_measurement_log();
  for (const absl::Status& status : {absl::NotFoundError(""), absl::FailedPreconditionError("")}) {
    EXPECT_EQ(wire::ReasonOf(SearchFailure(status, options)), v1::ERROR_REASON_INVALID_REQUEST);
  }
}

TEST(FailureReasonTest, KeepsTheReasonOfATask) {
  for (const v1::ErrorReason reason :
       {v1::ERROR_REASON_CRASHED, v1::ERROR_REASON_DEADLINE, v1::ERROR_REASON_DEVICE_UNAVAILABLE,
        v1::ERROR_REASON_LIMIT_EXCEEDED, v1::ERROR_REASON_UNSUPPORTED}) {
    const absl::Status status = wire::Error(reason, "conv3");
    EXPECT_EQ(SearchFailure(status, v1::OptimizeOptions()), status);
  }
  worker::v1::TaskError misfit;
  misfit.set_code(static_cast<int>(absl::StatusCode::kOutOfRange));
  EXPECT_EQ(wire::ReasonOf(SearchFailure(wire::StatusOfTask(misfit), v1::OptimizeOptions())),
            v1::ERROR_REASON_INVALID_REQUEST);
}

}  // namespace
}  // namespace plait
