#include "gpu_worker/backends/cpu/run/yardsticks.h"

#include <gtest/gtest.h>

namespace plait {
namespace {

// No machine is so slow that it does less than ten operations in a microsecond, and none so fast
// that a loop which the compiler has not removed does more than these.
TEST(CpuYardsticksTest, ReadsRatesThatAProcessorCanHave) {
  Team team(1, ThreadPlacement::kAnywhere);
  CpuYardsticks yardsticks(&team);
  for (int i = 0; i < 2; ++i) {
    const Yardsticks reading = yardsticks.Read();
    EXPECT_GT(reading.multiply_add_flops_per_us, 10);
    EXPECT_LT(reading.multiply_add_flops_per_us, 2e6);
    EXPECT_GT(reading.read_bytes_per_us, 10);
    EXPECT_LT(reading.read_bytes_per_us, 2e6);
    EXPECT_EQ(reading.drift, 0);
  }
}

}  // namespace
}  // namespace plait
