#include "bench/simulated_gpu/spill_exceptions.h"

#include "gtest/gtest.h"

namespace plait {
namespace {

constexpr SpillException kListed[] = {{"pool", "v4", "sm_90a", 16, 56},
                                      {"pool", "v8", "sm_90a", 8, 60}};

// 56 registers let 9 blocks of 128 threads stay, and 57 let 8.
CompiledKernel Kernel(const std::string& variant, int registers, int bytes) {
  return {"pool",
          variant,
          "sm_90a",
          128,
          {.registers = registers, .spill_store_bytes = bytes, .spill_load_bytes = bytes / 2}};
}

TEST(SpillCheckTest, TellsWhatIsNotListed) {
  SpillCheck check(kListed);
  EXPECT_EQ(check.Check(Kernel("v2", 255, 0)), "");
  EXPECT_NE(check.Check(Kernel("v2", 56, 4)), "");
  EXPECT_EQ(check.Check(Kernel("v4", 56, 16)), "");
  EXPECT_NE(check.Check(Kernel("v4", 56, 20)), "");
  CompiledKernel elsewhere = Kernel("v4", 56, 16);
  elsewhere.architecture = "sm_80";
  EXPECT_NE(check.Check(elsewhere), "");
}

TEST(SpillCheckTest, TellsAnotherReason) {
  SpillCheck check(kListed);
  EXPECT_NE(check.Check(Kernel("v4", 48, 16)), "");
  // At 60 registers as many blocks stay as at 64.
  EXPECT_NE(check.Check(Kernel("v8", 60, 8)), "");
}

TEST(SpillCheckTest, TellsWhatIsNoLongerNeeded) {
  SpillCheck check(kListed);
  EXPECT_EQ(check.Unneeded().size(), 2u);
  EXPECT_EQ(check.Check(Kernel("v4", 56, 16)), "");
  EXPECT_EQ(check.Unneeded().size(), 1u);
}

TEST(SpillCheckTest, LoadsCountWhereTheyAreMore) {
  EXPECT_EQ(SpilledBytes({.spill_store_bytes = 4, .spill_load_bytes = 12}), 12);
}

}  // namespace
}  // namespace plait
