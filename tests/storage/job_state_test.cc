#include "storage/job_state.h"

#include <set>
#include <utility>

#include <gtest/gtest.h>

#include "proto/wire/job_state.h"

namespace plait {
namespace {

TEST(JobStateTest, AllowsExactlyTheDocumentedSteps) {
  const std::set<std::pair<int, int>> allowed = {
      {v1::JOB_STATE_QUEUED, v1::JOB_STATE_RUNNING},
      {v1::JOB_STATE_QUEUED, v1::JOB_STATE_CANCELLED},
      {v1::JOB_STATE_RUNNING, v1::JOB_STATE_QUEUED},
      {v1::JOB_STATE_RUNNING, v1::JOB_STATE_SUCCEEDED},
      {v1::JOB_STATE_RUNNING, v1::JOB_STATE_FAILED},
      {v1::JOB_STATE_RUNNING, v1::JOB_STATE_CANCELLED},
      {v1::JOB_STATE_RUNNING, v1::JOB_STATE_QUARANTINED}};
  for (int from = v1::JobState_MIN; from <= v1::JobState_MAX; ++from) {
    for (int to = v1::JobState_MIN; to <= v1::JobState_MAX; ++to) {
      v1::Job job;
      job.set_state(static_cast<v1::JobState>(from));
      const absl::Status status = MoveJob(job, static_cast<v1::JobState>(to));
      const bool expected = allowed.count({from, to}) > 0;
      EXPECT_EQ(status.ok(), expected) << from << " to " << to;
      EXPECT_EQ(job.state(), expected ? to : from);
    }
  }
}

TEST(JobStateTest, NeverLeavesAFinalState) {
  for (int from = v1::JobState_MIN; from <= v1::JobState_MAX; ++from) {
    if (!wire::IsFinal(static_cast<v1::JobState>(from))) continue;
    for (int to = v1::JobState_MIN; to <= v1::JobState_MAX; ++to) {
      v1::Job job;
      job.set_state(static_cast<v1::JobState>(from));
      EXPECT_FALSE(MoveJob(job, static_cast<v1::JobState>(to)).ok());
    }
  }
}

TEST(JobStateTest, NamesBothStatesInTheError) {
  v1::Job job;
  job.set_id("j1");
  job.set_state(v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(MoveJob(job, v1::JOB_STATE_QUEUED).message(),
            "job j1: cannot go from SUCCEEDED to QUEUED");
}

}  // namespace
}  // namespace plait
