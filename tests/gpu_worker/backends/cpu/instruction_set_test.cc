#include "gpu_worker/backends/cpu/loops/instruction_set.h"

#include "gmock/gmock.h"
#include "gpu_worker/backends/cpu/loops/loops.h"
#include "gpu_worker/backends/cpu/offers/cpu_catalog.h"
#include "gpu_worker/backends/cpu/onednn/onednn.h"
#include "gpu_worker/backends/cpu/onednn/open_onednn.h"
#include "gpu_worker/backends/open_executor.h"
#include "gtest/gtest.h"
#include "optimizer/ops/shared/op_spec.h"

namespace plait {
namespace {

TEST(InstructionSetTest, NamesAreReadAsTheyAreWritten) {
  for (const InstructionSet set :
       {InstructionSet::kGeneric, InstructionSet::kAvx2, InstructionSet::kAvx512,
        InstructionSet::kAvx512Bf16, InstructionSet::kAmx}) {
    EXPECT_EQ(InstructionSetNamed(InstructionSetName(set)), set);
  }
  EXPECT_EQ(InstructionSetName(InstructionSet::kAmx), "amx");
  EXPECT_EQ(InstructionSetNamed("sse9"), std::nullopt);
  EXPECT_EQ(InstructionSetNamed(""), std::nullopt);
}

// The limit is the process's: it is lifted again at the end of a test.
class LimitTest : public testing::Test {
 protected:
  ~LimitTest() override { LimitInstructionSet(InstructionSet::kAmx); }
};

TEST_F(LimitTest, NothingBetterThanTheLimitIsUsed) {
  EXPECT_EQ(CurrentInstructionSet(), DetectedInstructionSet());
  LimitInstructionSet(InstructionSet::kGeneric);
  EXPECT_EQ(CurrentInstructionSet(), InstructionSet::kGeneric);
  EXPECT_STREQ(Loops().instruction_set, "generic");
}

TEST_F(LimitTest, ALimitAboveTheProcessorAddsNothing) {
  LimitInstructionSet(InstructionSet::kAmx);
  EXPECT_EQ(CurrentInstructionSet(), DetectedInstructionSet());
}

TEST_F(LimitTest, TheLibrarysLimitMayBeNoneAtAnyTime) {
  ASSERT_TRUE(OpenOnednn().ok());
  dnnl_get_effective_cpu_isa();  // it takes no other limit from here on
  const absl::Status status = LimitOnednn(InstructionSet::kAmx);
  EXPECT_TRUE(status.ok()) << status;
}

// Interpreted, it would take seconds to find out that it takes seconds.
TEST(OffersTest, AttentionIsForProcessorsThatItIsAssembledFor) {
  const absl::StatusOr<Graph> graph = ParseTypedGraph(
      "graph {\n  input %q: float32[1,2,6,8]\n  %y = Attention(%q, %q, %q)\n  output %y\n}");
  ASSERT_TRUE(graph.ok()) << graph.status();
  for (const auto& [set, family] : {std::pair{"generic", "reference"}, {"avx2", "attention"}}) {
    const CpuCatalog catalog({.instruction_set = set});
    EXPECT_EQ(catalog.KernelsAt(*graph, 0, /*fuse=*/true).front().family, family) << set;
  }
}

TEST(OpenExecutorTest, RefusesInstructionsThatDoNotExist) {
  const absl::Status status = OpenExecutor("cpu", {.instruction_set = "sse9"}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("avx512_bf16 or amx"));
}

TEST(OpenExecutorTest, RefusesInstructionsThatTheProcessorLacks) {
  if (DetectedInstructionSet() == InstructionSet::kAmx) GTEST_SKIP() << "this one has all";
  const absl::Status status = OpenExecutor("cpu", {.instruction_set = "amx"}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("has no amx"));
}

}  // namespace
}  // namespace plait
