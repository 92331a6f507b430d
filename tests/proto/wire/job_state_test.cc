#include "proto/wire/job_state.h"

#include <gtest/gtest.h>

namespace plait::wire {
namespace {

TEST(WireJobStateTest, FinalAreTheStatesThatAreNeverLeft) {
  for (int state = v1::JobState_MIN; state <= v1::JobState_MAX; ++state) {
    const bool is_open = state == v1::JOB_STATE_UNSPECIFIED || state == v1::JOB_STATE_QUEUED ||
                         state == v1::JOB_STATE_RUNNING;
    EXPECT_EQ(IsFinal(static_cast<v1::JobState>(state)), !is_open) << state;
  }
}

TEST(WireJobStateTest, NamesEachStateOnce) {
  EXPECT_EQ(JobStateName(v1::JOB_STATE_QUEUED), "QUEUED");
  EXPECT_EQ(JobStateName(v1::JOB_STATE_QUARANTINED), "QUARANTINED");
}

TEST(WireJobStateTest, ANumberThatIsNoStateIsOpenAndHasNoName) {
  const auto unknown = static_cast<v1::JobState>(99);
  EXPECT_FALSE(IsFinal(unknown));
  EXPECT_EQ(JobStateName(unknown), "");
}

}  // namespace
}  // namespace plait::wire
