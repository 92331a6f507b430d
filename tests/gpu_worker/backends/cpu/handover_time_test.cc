#include "gpu_worker/backends/cpu/run/handover_time.h"

#include <gtest/gtest.h>

#include "base/machine_cores.h"

namespace plait {
namespace {

// Nothing goes from core to core in a nanosecond, and what takes longer than two microseconds is
// unknown.
TEST(HandoverUsTest, IsATimeThatCoresCanHaveOrUnknown) {
  for (const int threads : {2, 3, 8}) {
    Team team(threads, ThreadPlacement::kAnywhere);
    const double us = HandoverUs(team);
    EXPECT_TRUE(us == 0 || (us > 0.001 && us <= 2)) << us;
  }
}

TEST(HandoverUsTest, IsKnownWhereEachThreadHasACore) {
  if (MachineCores() < 2) GTEST_SKIP() << "one core";
  Team team(2, ThreadPlacement::kAnywhere);
  double us = 0;
  // Beside the other tests not every moment is ours.
  for (int i = 0; us == 0 && i < 1000; ++i) us = HandoverUs(team);
  EXPECT_GT(us, 0);
}

TEST(HandoverUsTest, OfOneThreadIsUnknown) {
  Team team(1, ThreadPlacement::kAnywhere);
  EXPECT_EQ(HandoverUs(team), 0);
}

}  // namespace
}  // namespace plait
