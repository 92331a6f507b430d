#include "server/jobs/job_progress.h"

#include <gtest/gtest.h>

namespace plait {
namespace {

TEST(JobProgressTest, GoesOnWithTimeAfterWhatItHeard) {
  JobProgress progress;
  EXPECT_EQ(progress.At(absl::Seconds(5)).fraction, 0);
  EXPECT_EQ(progress.At(absl::Seconds(5)).seconds_left, 0);
  progress.Heard(0.4, 30, absl::Seconds(10));
  EXPECT_NEAR(progress.At(absl::Seconds(10)).fraction, 0.4, 1e-9);
  EXPECT_NEAR(progress.At(absl::Seconds(25)).fraction, 0.7, 1e-9);
  EXPECT_NEAR(progress.At(absl::Seconds(25)).seconds_left, 15, 1e-9);
}

TEST(JobProgressTest, NeverGoesBack) {
  JobProgress progress;
  progress.Heard(0.4, 30, absl::Seconds(10));
  progress.Heard(0.6, 10, absl::Seconds(25));
  EXPECT_NEAR(progress.At(absl::Seconds(25)).fraction, 0.7, 1e-9);
  EXPECT_NEAR(progress.At(absl::Seconds(30)).fraction, 0.85, 1e-9);
  EXPECT_NEAR(progress.At(absl::Seconds(30)).seconds_left, 5, 1e-9);
}

TEST(JobProgressTest, IsNotAtItsEndBeforeItIsTold) {
  JobProgress progress;
  progress.Heard(0.9, 1, absl::Seconds(0));
  EXPECT_EQ(progress.At(absl::Hours(1)).fraction, 0.99);
  EXPECT_EQ(progress.At(absl::Hours(1)).seconds_left, 0);
  progress.Heard(1, 0, absl::Hours(1));
  EXPECT_EQ(progress.At(absl::Hours(1)).fraction, 0.99);
}

}  // namespace
}  // namespace plait
