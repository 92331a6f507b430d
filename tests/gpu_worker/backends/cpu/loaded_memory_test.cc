#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "gpu_worker/executor/executor.h"
#include "optimizer/ir/text.h"
#include "optimizer/ops/evaluation/evaluate.h"
#include "tests/gpu_worker/executor/executor_fixture.h"
#include "tests/gpu_worker/executor/simple_plan.h"

// What is offered loads, however large: nothing here touches what it reserves.

namespace plait {
namespace {

class LoadedMemoryTest : public ExecutorFixture {
 protected:
  static Graph Parse(const std::string& text) {
    absl::StatusOr<Graph> graph = ParseTypedGraph(text);
    EXPECT_TRUE(graph.ok()) << graph.status();
    return graph.ok() ? *std::move(graph) : Graph();
  }

  absl::Status LoadStatus(const Graph& graph) const {
    return executor_->Load(graph, PlanOf(graph), NoWeights()).status();
  }
};

// The layers of an ALBERT share their weights, as the steps of an unrolled recurrence do.
TEST_F(LoadedMemoryTest, ManyStepsMayReadOneConstant) {
  std::string text =
      "graph {\n"
      "  input %y0: float32[4,1024]\n"
      "  const %w: float32[1024,1024] = synthetic 1\n";
  constexpr int kLayers = 40;
  for (int i = 0; i < kLayers; ++i) {
    absl::StrAppend(&text, "  %y", i + 1, " = MatMul(%y", i, ", %w)\n");
  }
  const Graph graph = Parse(absl::StrCat(text, "  output %y", kLayers, "\n}\n"));
  const absl::Status status = LoadStatus(graph);
  EXPECT_TRUE(status.ok()) << status;
}

// 268 MB of products, four gates for each of 8 x 32,768 rows of 64.
TEST_F(LoadedMemoryTest, ARecurrentLayerMayHaveManySteps) {
  const Graph graph = Parse(R"(graph {
  input %x: float32[32768,8,16]
  const %w: float32[1,256,16] = synthetic 1
  const %r: float32[1,256,64] = synthetic 2
  %y, %h, %c = LSTM(%x, %w, %r) {hidden_size=64}
  output %y
})");
  const absl::Status status = LoadStatus(graph);
  EXPECT_TRUE(status.ok()) << status;
}

// 328 MB of products, beside which its input and what is read of its outputs are nothing.
TEST_F(LoadedMemoryTest, ARecurrentLayerMayKeepItsLastStateOnly) {
  const Graph graph = Parse(R"(graph {
  input %x: float32[20000,1,1]
  const %w: float32[1,4096,1] = synthetic 1
  const %r: float32[1,4096,1024] = synthetic 2
  _, %h = LSTM(%x, %w, %r) {hidden_size=1024}
  output %h
})");
  const absl::Status status = LoadStatus(graph);
  EXPECT_TRUE(status.ok()) << status;
}

// The skips of a U-Net: nine taps of 128 channels for each of 65,536 pixels are 302 MB.
TEST_F(LoadedMemoryTest, EveryKernelOfALargeConvolutionBeforeAConcatLoads) {
  const std::string conv = R"(graph {
  input %x: float32[1,128,256,256]
  const %w: float32[128,128,3,3] = synthetic 1
  %c = Conv(%x, %w) {kernel_shape=[3,3], pads=[1,1,1,1]}
)";
  const Graph whole = Parse(absl::StrCat(conv, "  %y = Concat(%c, %x) {axis=1}\n  output %y\n}\n"));
  const Graph alone = Parse(absl::StrCat(conv, "  output %c\n}\n"));
  bool makes_rows = false;
  for (const Kernel& kernel : catalog_->KernelsAt(whole, 0, true)) {
    if (kernel.width > executor_->device().threads || catalog_->NeedsAdmission(kernel)) continue;
    const absl::Status status = executor_->LoadKernel(alone, kernel, NoWeights()).status();
    EXPECT_TRUE(status.ok()) << kernel.family << " " << kernel.variant << ": " << status;
    makes_rows = makes_rows || kernel.family == "conv_fma";
  }
  EXPECT_TRUE(makes_rows);
}

// Kernels multiply at least one element: such a plan is refused, or runs, and ends nobody.
TEST_F(LoadedMemoryTest, AttentionOverNothingEndsNobody) {
  for (const auto& [depth, columns] : {std::pair(0, 3), std::pair(4, 0)}) {
    const Graph graph = Parse(absl::StrCat(R"(graph {
  input %q: float32[2,4,)",
                                           depth, R"(]
  input %k: float32[2,)",
                                           depth, R"(,5]
  input %v: float32[2,5,)",
                                           columns, R"(]
  %s = MatMul(%q, %k)
  %p = Softmax(%s) {axis=-1}
  %y = MatMul(%p, %v)
  output %y
})"));
    const absl::Status status = LoadStatus(graph);
    EXPECT_TRUE(status.ok()) << status;
    for (NodeId node = 0; node < graph.node_count(); ++node) {
      for (const Kernel& kernel : catalog_->KernelsAt(graph, node, true)) {
        EXPECT_NE(kernel.family, "attention");
      }
    }
    Kernel hostile = catalog_->KernelsAt(graph, 0, false).front();
    hostile.family = "attention";
    hostile.nodes = {0, 1, 2};
    EXPECT_FALSE(executor_->LoadKernel(graph, hostile, NoWeights()).ok());
  }
}

}  // namespace
}  // namespace plait
