#include "gpu_worker/simulated_gpu/kernel_run.h"

#include "gtest/gtest.h"
#include "tests/gpu_worker/simulated_gpu/hand_written.h"

namespace plait::simulated_gpu {
namespace {

TEST(TouchesTest, RangesThatMeetBecomeOne) {
  Touches touches;
  for (const ByteRange range : {ByteRange{8, 12}, {0, 4}, {16, 20}, {4, 8}, {12, 13}, {5, 5}}) {
    touches.Read(range);
  }
  ASSERT_EQ(touches.reads().size(), 2u);
  EXPECT_EQ(touches.reads()[0].begin, 0u);
  EXPECT_EQ(touches.reads()[0].end, 13u);
  EXPECT_EQ(touches.reads()[1].begin, 16u);
  touches.Read({2, 18});
  ASSERT_EQ(touches.reads().size(), 1u);
  EXPECT_EQ(touches.reads()[0].end, 20u);
}

TEST(TouchesTest, AConflictNeedsAWriteAndACommonByte) {
  Touches reads, writes, beside;
  reads.Read({0, 8});
  writes.Write({7, 9});
  beside.Write({8, 16});
  EXPECT_FALSE(Conflict(reads, reads).has_value());
  EXPECT_FALSE(Conflict(reads, beside).has_value());
  for (const auto& common : {Conflict(reads, writes), Conflict(writes, reads)}) {
    ASSERT_TRUE(common.has_value());
    EXPECT_EQ(common->begin, 7u);
    EXPECT_EQ(common->end, 8u);
  }
  ASSERT_TRUE(Conflict(writes, beside).has_value());
  EXPECT_EQ(Conflict(writes, beside)->begin, 8u);
}

// Two launches of a kernel in one memory, which has x and a y for each.
class KernelRunTest : public testing::Test {
 protected:
  static constexpr int kBytes = 256;

  Program Decode(const std::string& body) {
    const auto module = ParsePtx(HandWritten(body));
    EXPECT_TRUE(module.ok()) << module.status();
    auto program = DecodeKernel(*module);
    EXPECT_TRUE(program.ok()) << program.status();
    return *std::move(program);
  }

  KernelRun Begin(const Program& program, uint64_t y, bool has_dependencies = false) {
    const void* arguments[] = {&x_, &y};
    auto run = KernelRun::Begin(program, memory_, {{2, 1, 1}, {32, 1, 1}}, arguments, {},
                                has_dependencies);
    EXPECT_TRUE(run.ok()) << run.status();
    return *std::move(run);
  }

  void SetUp() override {
    x_ = memory_.Allocate("x", kBytes);
    for (uint64_t& y : y_) y = memory_.Allocate("y", kBytes);
    const std::vector<std::byte> bytes(kBytes, std::byte{1});
    ASSERT_TRUE(memory_.Write(x_, bytes).ok());
  }

  DeviceMemory memory_;
  uint64_t x_ = 0;
  uint64_t y_[2] = {};
};

TEST_F(KernelRunTest, BlocksOfTwoLaunchesTakeTurns) {
  // Block b writes words 32 b to 32 b + 31.
  const Program program = Decode(
      "ld.global.u32 %r3, [%rd4]; mul.wide.u32 %rd8, %r2, 128; add.s64 %rd8, %rd5, %rd8;"
      " st.global.u32 [%rd8], %r3;");
  KernelRun first = Begin(program, y_[0]), second = Begin(program, y_[1]);
  for (const auto expected : {KernelRun::Progress::kBlockEnded, KernelRun::Progress::kEnded}) {
    for (KernelRun* run : {&first, &second}) {
      const auto progress = run->RunBlock();
      ASSERT_TRUE(progress.ok()) << progress.status();
      EXPECT_EQ(*progress, expected);
    }
  }
  const Touches touches = first.touches();
  ASSERT_EQ(touches.writes().size(), 1u);
  EXPECT_EQ(touches.writes()[0].begin, y_[0]);
  EXPECT_EQ(touches.writes()[0].end, y_[0] + kBytes);
  ASSERT_EQ(touches.reads().size(), 1u);
  EXPECT_EQ(touches.reads()[0].end, x_ + kBytes / 2);
  EXPECT_FALSE(Conflict(touches, second.touches()).has_value());
}

// A race within a launch is found though another launch has run between its blocks.
TEST_F(KernelRunTest, RacesAreFoundAcrossTurns) {
  const Program racing = Decode("st.global.u32 [%rd5], %r1;");
  const Program reading = Decode("ld.global.u32 %r3, [%rd4];");
  KernelRun first = Begin(racing, y_[0]), second = Begin(reading, y_[1]);
  ASSERT_TRUE(first.RunBlock().ok());
  ASSERT_TRUE(second.RunBlock().ok());
  EXPECT_EQ(first.RunBlock().status().code(), absl::StatusCode::kAborted);
}

TEST_F(KernelRunTest, WaitsForWhatItDependsOn) {
  const Program program = Decode(
      "ld.global.u32 %r3, [%rd1]; griddepcontrol.wait; mul.wide.u32 %rd8, %r2, 128;"
      " add.s64 %rd8, %rd5, %rd8; st.global.u32 [%rd8], %r3;");
  KernelRun run = Begin(program, y_[0], /*has_dependencies=*/true);
  for (int i = 0; i < 3; ++i) {
    const auto progress = run.RunBlock();
    ASSERT_TRUE(progress.ok()) << progress.status();
    EXPECT_EQ(*progress, KernelRun::Progress::kWaits);
  }
  EXPECT_TRUE(run.touches().writes().empty());
  run.EndDependencies();
  ASSERT_TRUE(run.RunBlock().ok());
  ASSERT_TRUE(run.RunBlock().ok());
  ASSERT_EQ(run.early_touches().reads().size(), 1u);
  EXPECT_EQ(run.early_touches().reads()[0].end, x_ + 4);
  EXPECT_TRUE(run.early_touches().writes().empty());
  EXPECT_EQ(run.touches().writes().size(), 1u);
}

TEST_F(KernelRunTest, WithoutDependenciesNothingWaits) {
  const Program program = Decode("griddepcontrol.launch_dependents; griddepcontrol.wait;");
  EXPECT_TRUE(program.triggers);
  EXPECT_EQ(program.architecture, 90);
  KernelRun run = Begin(program, y_[0]);
  ASSERT_TRUE(run.RunBlock().ok());
  EXPECT_EQ(*run.RunBlock(), KernelRun::Progress::kEnded);
}

}  // namespace
}  // namespace plait::simulated_gpu
