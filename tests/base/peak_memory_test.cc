#include "base/peak_memory.h"

#include <cstring>
#include <vector>

#include <gtest/gtest.h>

namespace plait {
namespace {

constexpr int64_t kBlockBytes = int64_t{64} << 20;

// Has so many bytes resident, and gives them back.
void TouchBlock() {
  std::vector<char> block(kBlockBytes);
  std::memset(block.data(), 1, block.size());
  volatile char last = block.back();
  static_cast<void>(last);
}

TEST(PeakMemoryTest, ReadsWhatTheKernelSays) {
  EXPECT_EQ(PeakMemoryBytesIn("Name:\tplait\nVmHWM:\t    2048 kB\nVmRSS:\t 1024 kB\n"), 2 << 20);
  EXPECT_EQ(PeakMemoryBytesIn("VmRSS:\t 1024 kB\n"), 0);
  EXPECT_EQ(PeakMemoryBytesIn("VmHWM:\t many kB\n"), 0);
}

TEST(PeakMemoryTest, KeepsThePeakOfMemoryThatWasGivenBack) {
  const int64_t before_bytes = PeakMemoryBytes();
  EXPECT_GT(before_bytes, 0);
  TouchBlock();
  EXPECT_GT(PeakMemoryBytes(), kBlockBytes);
  EXPECT_GE(PeakMemoryBytes(), before_bytes);
}

TEST(PeakMemoryTest, CountsAnewAfterAReset) {
  TouchBlock();
  const int64_t before_bytes = PeakMemoryBytes();
  ResetPeakMemory();
  EXPECT_LT(PeakMemoryBytes(), before_bytes - kBlockBytes / 2);
}

}  // namespace
}  // namespace plait
