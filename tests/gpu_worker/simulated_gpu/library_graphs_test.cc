#include <cmath>
#include <memory>

#include "gpu_worker/backends/cuda/cublaslt/source.h"
#include "gpu_worker/backends/cuda/cudnn/source.h"
#include "gpu_worker/backends/cuda/driver/graph_builder.h"
#include "gtest/gtest.h"
#include "tests/gpu_worker/simulated_gpu/library_fixture.h"

// Stand-ins in streams and graphs: one kernel each, ordered and owned like any other.

namespace plait::simulated_gpu {
namespace {

using cuda::EdgeReason;
using cuda::Status;

// A product y = x w of 16 x 16 matrices, and a convolution of the same sizes.
LibraryCase Gemm() {
  return {"gemm", cuda::GemmProblem{.m = 16, .n = 16, .k = 16}, cuda::Precision::kTf32};
}
// With sums that are split, in a workspace.
LibraryCase DeepGemm() {
  return {"gemm", cuda::GemmProblem{.m = 16, .n = 16, .k = 1024}, cuda::Precision::kTf32};
}
LibraryCase ConvCase() {
  cuda::ConvProblem conv;
  conv.c = conv.k = 16;
  conv.h = conv.w = 4;
  return {"conv", conv, cuda::Precision::kTf32, cuda::MemoryLayout::kNhwc};
}

using Shared = std::shared_ptr<cuda::Candidate>;

// The first candidate, prepared, or the first with a workspace.
Shared Take(LibraryFixture& fixture, const cuda::CandidateSource& source,
            const LibraryCase& problem, bool has_workspace = false) {
  for (auto& candidate : fixture.List(source, problem)) {
    EXPECT_TRUE(candidate->Prepare().ok());
    if (has_workspace && candidate->workspace_bytes() == 0) continue;
    return std::move(candidate);
  }
  ADD_FAILURE() << "no candidate";
  return nullptr;
}

int Add(cuda::FlatGraphBuilder& builder, const Shared& candidate, const cuda::Operands& operands) {
  builder.Keep(candidate->resources());
  const auto added = builder.AddOperation(
      candidate->name(), [&](cuda::Stream stream) { return candidate->Launch(operands, stream); });
  EXPECT_TRUE(added.ok()) << added.error().message;
  return added.ok() ? added.value() : 0;
}

std::string LastViolation(LibraryFixture& fixture) {
  const std::vector<std::string> violations = fixture.driver().violations();
  return violations.empty() ? "" : violations.back();
}

class LibraryNodeTest : public testing::TestWithParam<const cuda::CandidateSource*> {
 protected:
  LibraryCase Problem() const { return GetParam() == &cuda::kCudnnSource ? ConvCase() : Gemm(); }
};

TEST_P(LibraryNodeTest, ALaunchIsOneOperationOrOneNode) {
  LibraryFixture fixture;
  const LibraryCase problem = Problem();
  const Shared candidate = Take(fixture, *GetParam(), problem);
  const LibraryOperands operands = fixture.Upload(problem, candidate->workspace_bytes());
  fixture.driver().TakeTrace(0);
  ASSERT_TRUE(candidate->Launch(operands.device, fixture.stream()).ok());
  ASSERT_TRUE(fixture.runtime().Synchronize(fixture.stream()).ok());
  EXPECT_EQ(fixture.driver().TakeTrace(0).size(), 1U);
  const std::vector<std::vector<float>> plain = fixture.Download(problem, operands).value();

  cuda::FlatGraphBuilder builder(&fixture.runtime());
  const int operation = Add(builder, candidate, operands.device);
  const auto nodes = builder.Describe(operation);
  ASSERT_TRUE(nodes.ok()) << nodes.error().message;
  ASSERT_EQ(nodes.value().size(), 1U);
  EXPECT_EQ(nodes.value()[0].kind, cuda::NodeDescription::Kind::kKernel);
  EXPECT_EQ(nodes.value()[0].kernel.find("simulated_"), 0U) << nodes.value()[0].kernel;
  EXPECT_GT(nodes.value()[0].grid[0], 0U);
  const auto graph = builder.Build();
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  ASSERT_TRUE(
      fixture.runtime().Fill(operands.device.outputs[0], 0, 16 * 16 * 4, fixture.stream()).ok());
  ASSERT_TRUE(graph.value().Launch(fixture.stream()).ok());
  EXPECT_EQ(fixture.Download(problem, operands).value(), plain);
}

TEST_P(LibraryNodeTest, AnOperandThatNobodyHasWrittenIsNamed) {
  LibraryFixture fixture;
  const LibraryCase problem = Problem();
  const Shared candidate = Take(fixture, *GetParam(), problem);
  LibraryOperands operands = fixture.Upload(problem, candidate->workspace_bytes());
  operands.device.inputs[0] = fixture.Allocate(16 * 16 * 4);
  ASSERT_TRUE(candidate->Launch(operands.device, fixture.stream()).ok()) << "a device reads later";
  const Status status = fixture.runtime().Synchronize(fixture.stream());
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, cuda::ErrorCode::kDevice);
  EXPECT_NE(LastViolation(fixture).find("was never written"), std::string::npos);
  EXPECT_FALSE(fixture.runtime().CheckHealth().ok()) << "it is sticky";
}

TEST_P(LibraryNodeTest, AnOperandThatIsTooShortIsRefused) {
  LibraryFixture fixture;
  const LibraryCase problem = Problem();
  const Shared candidate = Take(fixture, *GetParam(), problem);
  LibraryOperands operands = fixture.Upload(problem, candidate->workspace_bytes());
  operands.device.outputs[0] = fixture.Allocate(16 * 16 * 4 - 4);
  ASSERT_TRUE(candidate->Launch(operands.device, fixture.stream()).ok());
  EXPECT_FALSE(fixture.runtime().Synchronize(fixture.stream()).ok());
  EXPECT_NE(LastViolation(fixture).find("out of bounds"), std::string::npos);
}

TEST_P(LibraryNodeTest, AResultOverAnOperandIsARace) {
  LibraryFixture fixture;
  const LibraryCase problem = Problem();
  const Shared candidate = Take(fixture, *GetParam(), problem);
  LibraryOperands operands = fixture.Upload(problem, candidate->workspace_bytes());
  operands.device.outputs[0] = const_cast<void*>(operands.device.inputs[0]);
  ASSERT_TRUE(candidate->Launch(operands.device, fixture.stream()).ok());
  EXPECT_FALSE(fixture.runtime().Synchronize(fixture.stream()).ok());
  EXPECT_NE(LastViolation(fixture).find("operand and result of one kernel"), std::string::npos);
}

// y = (x w1) w2 as two operations of which the second reads what the first writes.
TEST_P(LibraryNodeTest, WithoutAnEdgeAGraphIsARace) {
  for (const bool has_edge : {true, false}) {
    for (uint64_t seed = 1; seed <= 4; ++seed) {
      LibraryFixture fixture({.seed = seed});
      const LibraryCase problem = Problem();
      const Shared candidate = Take(fixture, *GetParam(), problem);
      const LibraryOperands first = fixture.Upload(problem, candidate->workspace_bytes(), 1);
      LibraryOperands second = fixture.Upload(problem, candidate->workspace_bytes(), 2);
      second.device.inputs[0] = first.device.outputs[0];
      // So that the reader finds something, whoever comes first.
      ASSERT_TRUE(
          fixture.runtime().Fill(first.device.outputs[0], 0, 16 * 16 * 4, fixture.stream()).ok());
      ASSERT_TRUE(fixture.runtime().Synchronize(fixture.stream()).ok());
      cuda::FlatGraphBuilder builder(&fixture.runtime());
      const int a = Add(builder, candidate, first.device);
      const int b = Add(builder, candidate, second.device);
      if (has_edge) {
        ASSERT_TRUE(builder.AddEdge(a, b, EdgeReason::kData).ok());
      }
      const auto graph = builder.Build();
      ASSERT_TRUE(graph.ok());
      ASSERT_TRUE(graph.value().Launch(fixture.stream()).ok());
      EXPECT_EQ(fixture.runtime().Synchronize(fixture.stream()).ok(), has_edge) << seed;
      EXPECT_EQ(LastViolation(fixture).find("race: nothing orders") != std::string::npos, !has_edge)
          << LastViolation(fixture);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sources, LibraryNodeTest,
                         testing::Values(&cuda::kCudnnSource, &cuda::kCublasLtSource),
                         [](const auto& info) { return std::string(info.param->name); });

// Nothing else is shared, so that nobody would see it in the results of one order.
TEST(LibraryWorkspaceTest, OneOfTwoThatMayRunAtOnceIsARace) {
  for (const bool is_shared : {false, true}) {
    LibraryFixture fixture;
    const LibraryCase problem = DeepGemm();
    const Shared candidate = Take(fixture, cuda::kCublasLtSource, problem, true);
    const size_t bytes = candidate->workspace_bytes();
    const LibraryOperands first = fixture.Upload(problem, bytes, 1);
    LibraryOperands second = fixture.Upload(problem, bytes, 2);
    if (is_shared) second.device.workspace = first.device.workspace;
    cuda::FlatGraphBuilder builder(&fixture.runtime());
    Add(builder, candidate, first.device);
    Add(builder, candidate, second.device);
    const auto graph = builder.Build();
    ASSERT_TRUE(graph.ok());
    ASSERT_TRUE(graph.value().Launch(fixture.stream()).ok());
    EXPECT_EQ(fixture.runtime().Synchronize(fixture.stream()).ok(), !is_shared);
    EXPECT_EQ(LastViolation(fixture).find("race: nothing orders") != std::string::npos, is_shared);
  }
}

TEST(LibraryWorkspaceTest, OverAResultIsARace) {
  LibraryFixture fixture;
  const LibraryCase problem = DeepGemm();
  const Shared candidate = Take(fixture, cuda::kCublasLtSource, problem, true);
  LibraryOperands operands = fixture.Upload(problem, candidate->workspace_bytes());
  ASSERT_GE(candidate->workspace_bytes(), size_t{16 * 16 * 4});
  operands.device.outputs[0] = operands.device.workspace;
  ASSERT_TRUE(candidate->Launch(operands.device, fixture.stream()).ok());
  EXPECT_FALSE(fixture.runtime().Synchronize(fixture.stream()).ok());
  EXPECT_NE(LastViolation(fixture).find("are written twice by one kernel"), std::string::npos)
      << LastViolation(fixture);
}

// What lies in a workspace is lost.
TEST(LibraryWorkspaceTest, IsSpoilt) {
  LibraryFixture fixture;
  const LibraryCase problem = DeepGemm();
  const Shared candidate = Take(fixture, cuda::kCublasLtSource, problem, true);
  LibraryOperands operands = fixture.Upload(problem, candidate->workspace_bytes());
  ASSERT_TRUE(
      fixture.runtime()
          .Fill(operands.device.workspace, 0, candidate->workspace_bytes(), fixture.stream())
          .ok());
  ASSERT_TRUE(candidate->Launch(operands.device, fixture.stream()).ok());
  operands.device.outputs[0] = operands.device.workspace;
  const auto read = fixture.Download(problem, operands);
  ASSERT_TRUE(read.ok());
  EXPECT_TRUE(std::isnan(read.value()[0][0]));
}

// A graph has to keep what its nodes refer to.
TEST(LibraryPlanTest, IsNeededByTheGraphsThatHaveItsKernel) {
  for (const bool is_kept : {true, false}) {
    LibraryFixture fixture;
    const LibraryCase problem = ConvCase();
    Shared candidate = Take(fixture, cuda::kCudnnSource, problem);
    const LibraryOperands operands = fixture.Upload(problem, candidate->workspace_bytes());
    cuda::FlatGraphBuilder builder(&fixture.runtime());
    if (is_kept) builder.Keep(candidate->resources());
    ASSERT_TRUE(builder
                    .AddOperation("conv",
                                  [&](cuda::Stream stream) {
                                    return candidate->Launch(operands.device, stream);
                                  })
                    .ok());
    const auto graph = builder.Build();
    ASSERT_TRUE(graph.ok());
    candidate = nullptr;
    const bool runs = graph.value().Launch(fixture.stream()).ok() &&
                      fixture.runtime().Synchronize(fixture.stream()).ok();
    EXPECT_EQ(runs, is_kept);
    EXPECT_EQ(LastViolation(fixture).find("has been unloaded") != std::string::npos, !is_kept);
  }
}

}  // namespace
}  // namespace plait::simulated_gpu
