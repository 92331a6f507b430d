#include "server/jobs/job_spec.h"

#include <gtest/gtest.h>

#include "proto/wire/digest.h"

namespace plait {
namespace {

LeasedJob SampleJob() {
  LeasedJob leased;
  *leased.job.mutable_model() = wire::DigestToProto(DigestOf("model"));
  return leased;
}

TEST(JobSpecTest, FillsInTheDefaults) {
  const LeasedJob leased = SampleJob();
  const absl::StatusOr<JobSpec> spec = ReadJobSpec(leased);
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->model, DigestOf("model"));
  EXPECT_FALSE(spec->measurement_log.has_value());
  EXPECT_EQ(spec->budget, absl::Seconds(60));
  EXPECT_EQ(spec->budget_max, absl::Minutes(10));
}

TEST(JobSpecTest, TakesWhatTheJobSays) {
  LeasedJob leased = SampleJob();
  leased.job.mutable_options()->set_budget_seconds(0.5);
  *leased.job.mutable_options()->mutable_measurement_log() = wire::DigestToProto(DigestOf("log"));
  const absl::StatusOr<JobSpec> spec = ReadJobSpec(leased);
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->measurement_log, DigestOf("log"));
  EXPECT_EQ(spec->budget, absl::Milliseconds(500));
  EXPECT_EQ(spec->budget_max, absl::Milliseconds(500));
}

TEST(JobSpecTest, RefusesWhatIsNoDigest) {
  LeasedJob leased = SampleJob();
  leased.job.mutable_options()->mutable_measurement_log()->set_sha256_hex("short");
  EXPECT_TRUE(absl::IsInvalidArgument(ReadJobSpec(leased).status()));
  leased = SampleJob();
  leased.job.mutable_model()->set_size_bytes(-1);
  EXPECT_TRUE(absl::IsInvalidArgument(ReadJobSpec(leased).status()));
}

}  // namespace
}  // namespace plait
