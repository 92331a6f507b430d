#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "optimizer/ir/text.h"
#include "tests/gpu_worker/backends/cpu/cpu_executor_fixture.h"

// Plans, graphs and inputs that may come from anyone, and that are refused.

namespace plait {
namespace {

using testing::HasSubstr;

TEST_F(CpuExecutorTest, RefusesWrongInputs) {
  const Graph graph = Ladder(1);
  const absl::StatusOr<std::unique_ptr<Executable>> executable =
      executor_->Load(graph, PlanOf(graph, {}), NoWeights());
  ASSERT_TRUE(executable.ok());
  EXPECT_EQ((*executable)->Run({}).status().code(), absl::StatusCode::kInvalidArgument);
  const absl::Status status = (*executable)->Run({Tensor::ScalarFloat(1)}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("input a0 must be float32[1,8,10,10]"));
}

TEST_F(CpuExecutorTest, RefusesAnIndexThatIsOutOfRange) {
  const Graph graph = ParseTyped(R"(graph {
  input %ids: int64[2]
  const %table: float32[3,4] = synthetic 1
  %y = Gather(%table, %ids)
  output %y
})");
  const absl::StatusOr<std::unique_ptr<Executable>> executable =
      executor_->Load(graph, PlanOf(graph, {}), NoWeights());
  ASSERT_TRUE(executable.ok());
  EXPECT_TRUE((*executable)->Run({Tensor::Int64s({2, -3})}).ok());
  EXPECT_EQ((*executable)->Run({Tensor::Int64s({0, 3})}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

// A plan may come from anyone: each of these would read or write where it must not.
TEST_F(CpuExecutorTest, RefusesHostilePlans) {
  const Graph graph = Ladder(2);
  const Plan good = PlanOf(graph, {});
  ASSERT_TRUE(LoadStatus(graph, good).ok());
  const auto expect_refused = [&](const char* what, const auto& change) {
    Plan plan = good;
    change(&plan);
    EXPECT_EQ(LoadStatus(graph, plan).code(), absl::StatusCode::kInvalidArgument) << what;
  };
  expect_refused("other graph", [](Plan* plan) { plan->graph_fingerprint = "0"; });
  expect_refused("other device", [](Plan* plan) { plan->device_fingerprint = "toaster"; });
  expect_refused("too wide", [](Plan* plan) { plan->threads = 1 << 10; });
  expect_refused("outside", [](Plan* plan) { plan->arena_bytes = 64; });
  expect_refused("overlap", [](Plan* plan) {
    for (Value& value : plan->values) value.buffer.offset_bytes = 0;
  });
  expect_refused("family", [](Plan* plan) { plan->steps[1].kernel.family = "warp"; });
  expect_refused("conv as a pool", [](Plan* plan) { plan->steps[1].kernel.family = "pool"; });
  expect_refused("neg as a conv", [](Plan* plan) { plan->steps[0].kernel.family = "conv"; });
  expect_refused("relabelled format",
                 [](Plan* plan) { plan->steps[1].kernel.variant = "channels_last"; });
  expect_refused("missing step", [](Plan* plan) { plan->steps.pop_back(); });
}

// Nobody infers types of complex numbers, so that the text may declare what it likes: the first Pad
// would store its 32 bytes 8 TiB behind a result of 8.
TEST_F(CpuExecutorTest, RefusesAGraphWhosePadWouldWriteBehindItsResult) {
  const Graph graph = ParseTyped(absl::StrCat(R"(graph {
  input %x: float32[1]
  const %c: complex64[4] = raw ")",
                                              absl::Base64Escape(std::string(32, 'A')), R"("
  const %p: int64[2] = [1099511627776,0]
  %y: complex64[1] = Pad(%c, %p)
  const %q: int64[2] = [0,0]
  %z: float32[1] = Pad(%y, %q)
  output %z
})"));
  EXPECT_EQ(LoadStatus(graph, PlanOf(graph)).code(), absl::StatusCode::kInvalidArgument);
}

// The kernel keeps the value in as many bytes as an element has.
TEST_F(CpuExecutorTest, RefusesAGraphWhosePadHasAValueOfManyElements) {
  const Graph graph = ParseTyped(absl::StrCat(R"(graph {
  input %x: float32[1]
  const %c: complex64[4] = raw ")",
                                              absl::Base64Escape(std::string(32, 'A')), R"("
  const %p: int64[2] = [0,0]
  const %v: float32[200] = raw ")",
                                              absl::Base64Escape(std::string(800, 'B')), R"("
  %y: complex64[4] = Pad(%c, %p, %v)
  %z: float32[1] = Pad(%y, %p)
  output %z
})"));
  EXPECT_EQ(LoadStatus(graph, PlanOf(graph)).code(), absl::StatusCode::kInvalidArgument);
}

// Without inference a graph's text is believed; each of these declares one type that is not its
// node's, and has a plan with room for what is declared.
TEST_F(CpuExecutorTest, RefusesHostileGraphs) {
  const std::string good = PrintGraph(Ladder(2));
  const auto load = [&](const std::string& text) {
    const absl::StatusOr<Graph> graph = ParseGraph(text);
    EXPECT_TRUE(graph.ok()) << graph.status() << "\n" << text;
    Plan plan = PlanOf(Ladder(2));
    plan.graph_fingerprint = graph->fingerprint().ToString();
    // Every value gets as much as the largest type of the texts below needs.
    constexpr int64_t kRoomBytes = 1 << 20;
    int64_t offset_bytes = 0;
    for (Value& value : plan.values) {
      if (value.buffer.size_bytes == 0) continue;
      value.buffer = {offset_bytes, kRoomBytes};
      offset_bytes += kRoomBytes;
    }
    plan.arena_bytes = offset_bytes;
    return LoadStatus(*graph, plan);
  };
  ASSERT_TRUE(load(good).ok()) << load(good);
  const std::string type = ": float32[1,8,10,10] = ";
  for (size_t at = good.find(type); at != std::string::npos; at = good.find(type, at + 1)) {
    for (const char* other : {"float32[1,8,10,9]", "float32[1,8,100,100]", "float32[8,10,10]",
                              "float32[800]", "float32[]", "int32[1,8,10,10]", "float64[1,8,10,10]",
                              "complex64[1,8,10,10]", "undefined"}) {
      std::string text = good;
      text.replace(at, type.size(), absl::StrCat(": ", other, " = "));
      EXPECT_EQ(load(text).code(), absl::StatusCode::kInvalidArgument) << text;
    }
  }
}

TEST_F(CpuExecutorTest, RefusesEveryFamilyForEveryForeignNode) {
  const Graph graph = Ladder(1);
  for (size_t step = 0; step < static_cast<size_t>(graph.node_count()); ++step) {
    const Plan good = PlanOf(graph, {});
    for (const char* family : {"concat", "expand", "gather", "layer_norm", "matmul", "pad", "pool",
                               "reduce", "reorder", "slice", "softmax", "transpose", "view"}) {
      Plan plan = good;
      plan.steps[step].kernel.family = family;
      EXPECT_EQ(LoadStatus(graph, plan).code(), absl::StatusCode::kInvalidArgument) << family;
    }
  }
}

TEST_F(CpuExecutorTest, ReportsAMissingWeight) {
  const Graph graph = ParseTyped(
      absl::StrCat("graph {\n  input %x: float32[2,3]\n  const %w: float32[3,4] = weight ",
                   std::string(64, 'a'), "/48\n", "  %y = MatMul(%x, %w)\n  output %y\n}\n"));
  EXPECT_EQ(LoadStatus(graph, PlanOf(graph, {})).code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace plait
