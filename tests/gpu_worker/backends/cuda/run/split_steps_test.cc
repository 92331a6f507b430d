#include "gpu_worker/backends/cuda/run/split_steps.h"

#include <gtest/gtest.h>

#include "gpu_worker/backends/cuda/offers/cuda_catalog.h"
#include "gpu_worker/executor/one_kernel_plan.h"
#include "optimizer/ops/shared/op_spec.h"

namespace plait::cuda {
namespace {

using FamilyNames = std::vector<std::string>;

plait::Graph Parse(const char* text) {
  absl::StatusOr<plait::Graph> graph = ParseTypedGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return graph.ok() ? *std::move(graph) : plait::Graph();
}

// The kernel of all nodes of the graph in these formats.
plait::Kernel KernelOfAll(const plait::Graph& graph, Format format) {
  const CudaCatalog catalog({.fp16 = true, .bf16 = true});
  for (plait::Kernel& kernel : catalog.KernelsAt(graph, 0, /*fuse=*/true)) {
    if (static_cast<int>(kernel.nodes.size()) == graph.node_count() &&
        kernel.output_formats[0] == format) {
      return std::move(kernel);
    }
  }
  ADD_FAILURE() << "no kernel of all nodes is offered";
  return {};
}

Plan PlanOf(const plait::Graph& graph, const plait::Kernel& kernel) {
  absl::StatusOr<Plan> plan = OneKernelPlan(graph, kernel);
  EXPECT_TRUE(plan.ok()) << plan.status();
  return plan.ok() ? *std::move(plan) : Plan();
}

FamilyNames FamiliesOf(const Plan& plan) {
  FamilyNames families;
  for (const Step& step : plan.steps) families.push_back(step.kernel.family);
  return families;
}

constexpr char kProduct[] = R"(graph {
  input %x: float32[4,8]
  input %r: float32[4,6]
  const %w: float32[8,6] = synthetic 1
  %y = MatMul(%x, %w)
  %z = Add(%y, %r)
  %s = Sigmoid(%z)
  output %s
})";

constexpr char kConv[] = R"(graph {
  input %x: float32[1,8,9,9]
  input %r: float32[1,4,9,9]
  const %w: float32[4,8,1,1] = synthetic 1
  %y = Conv(%x, %w)
  %z = Add(%y, %r)
  %s = Relu(%z)
  output %s
})";

TEST(SplitStepsTest, LeavesWhatCanBeComputed) {
  const plait::Graph graph = Parse(kProduct);
  const Plan plan = PlanOf(graph, KernelOfAll(graph, Format::kPlain));
  const auto split = SplitSteps(graph, plan, [](const Step&) { return true; });
  ASSERT_TRUE(split.ok()) << split.status();
  EXPECT_EQ(split->plan, plan);
  EXPECT_EQ(split->first_steps, (std::vector<int>{0, 1}));
}

TEST(SplitStepsTest, RunsWhatFollowsAProductBehindIt) {
  const plait::Graph graph = Parse(kProduct);
  const Plan plan = PlanOf(graph, KernelOfAll(graph, Format::kPlain));
  const auto split = SplitSteps(graph, plan, [](const Step&) { return false; });
  ASSERT_TRUE(split.ok()) << split.status();
  EXPECT_EQ(FamiliesOf(split->plan), (FamilyNames{"matmul", "elementwise"}));
  const std::vector<Step>& steps = split->plan.steps;
  EXPECT_EQ(steps[0].kernel.nodes, (std::vector<NodeId>{0}));
  EXPECT_EQ(steps[1].kernel.nodes, (std::vector<NodeId>{1, 2}));
  // What is between them is new, and what comes out lies where it was to lie.
  EXPECT_EQ(steps[0].outputs[0], static_cast<int>(plan.values.size()));
  EXPECT_EQ(split->plan.values.back().buffer.size_bytes, 4 * 6 * 4);
  EXPECT_EQ(steps[1].outputs, plan.steps[0].outputs);
  EXPECT_EQ(split->first_steps, (std::vector<int>{0, 2}));
}

TEST(SplitStepsTest, KeepsFormats) {
  const plait::Graph graph = Parse(kConv);
  const Plan plan = PlanOf(graph, KernelOfAll(graph, Format::kChannelsLast));
  const auto split = SplitSteps(graph, plan, [](const Step&) { return false; });
  ASSERT_TRUE(split.ok()) << split.status();
  for (const Step& step : split->plan.steps) {
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      EXPECT_EQ(split->plan.values[step.inputs[i]].format, step.kernel.input_formats[i]);
    }
    EXPECT_EQ(split->plan.values[step.outputs[0]].format, step.kernel.output_formats[0]);
  }
  EXPECT_EQ(split->plan.steps.back().kernel.family, "elementwise");
}

// Nothing is cast between the parts of a step of 16 bits, nor do its parts compute in others.
TEST(SplitStepsTest, KeepsWhatLiesIn16Bits) {
  const std::pair<const char*, Format> kinds[] = {
      {kConv, Format::kF16ChannelsLast}, {kProduct, Format::kF16}, {kProduct, Format::kBf16}};
  for (const auto& [text, format] : kinds) {
    const plait::Graph graph = Parse(text);
    const Plan plan = PlanOf(graph, KernelOfAll(graph, format));
    const auto split = SplitSteps(graph, plan, [](const Step&) { return false; });
    ASSERT_TRUE(split.ok()) << split.status();
    const std::vector<Step>& steps = split->plan.steps;
    ASSERT_EQ(steps.size(), 2u);
    EXPECT_EQ(steps[1].kernel.family, "elementwise");
    for (const Step& step : steps) {
      EXPECT_EQ(step.kernel.variant, plan.steps[0].kernel.variant);
      EXPECT_EQ(step.kernel.output_formats, std::vector{format});
    }
    // What is between them takes two bytes an element.
    const Value& between = split->plan.values[steps[0].outputs[0]];
    EXPECT_EQ(between.buffer.size_bytes, graph.type(between.tensor).bytes() / 2);
  }
}

// Whoever waits for the step waits for its last part, and only the first part waits.
TEST(SplitStepsTest, KeepsTheOrder) {
  const plait::Graph graph = Parse(kProduct);
  Plan plan = PlanOf(graph, KernelOfAll(graph, Format::kPlain));
  plan.streams = 3;
  Step first = plan.steps[0], second = plan.steps[0], third = plan.steps[0];
  second.stream = 1;
  second.waits = {0};
  third.stream = 2;
  third.waits = {0, 1};
  plan.steps = {first, second, third};
  int asked = 0;
  const auto split = SplitSteps(graph, plan, [&](const Step&) { return asked++ == 2; });
  ASSERT_TRUE(split.ok()) << split.status();
  ASSERT_EQ(split->plan.steps.size(), 5u);
  EXPECT_EQ(split->plan.steps[2].waits, (std::vector<int>{1}));
  EXPECT_TRUE(split->plan.steps[3].waits.empty());
  EXPECT_EQ(split->plan.steps[3].stream, 1);
  EXPECT_EQ(split->plan.steps[4].waits, (std::vector<int>{1, 3}));
  EXPECT_EQ(split->first_steps, (std::vector<int>{0, 2, 4, 5}));
}

TEST(SplitStepsTest, RefusesNodesThatOnlyTheHostHas) {
  const plait::Graph graph = Parse(R"(graph {
  input %x: int64[4]
  %y = Neg(%x)
  %z = Abs(%y)
  output %z
})");
  const plait::Kernel kernel = {.family = "elementwise",
                                .variant = "strict/auto",
                                .nodes = {0, 1},
                                .input_formats = {Format::kPlain},
                                .output_formats = {Format::kPlain}};
  const Plan plan = PlanOf(graph, kernel);
  const auto split = SplitSteps(graph, plan, [](const Step&) { return false; });
  EXPECT_EQ(split.status().code(), absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace plait::cuda
