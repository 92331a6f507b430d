#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "gpu_worker/backends/cuda/offers/cuda_catalog.h"
#include "optimizer/ops/shared/op_spec.h"
#include "tests/gpu_worker/backends/cuda/offers/problem_check.h"

namespace plait::cuda {
namespace {

// c_t = f_t * c_{t-1} + (1 - f_t) * z_t over three steps, and h_t = tanh(c_t * s) * r_t, where
// `scale` is the line that has s.
std::string Layer(const std::string& scale) {
  return R"(graph {
  input %f: float32[3,1,32]
  input %z: float32[3,1,32]
  input %r: float32[3,1,32]
  )" + scale +
         R"(
  const %one: float32[] = [1]
  %g = Sub(%one, %f) {}
  %x = Mul(%g, %z) {}
  %f0, %f1, %f2 = Split(%f) {axis=0, num_outputs=3}
  %x0, %x1, %x2 = Split(%x) {axis=0, num_outputs=3}
  %r0, %r1, %r2 = Split(%r) {axis=0, num_outputs=3}
  %m1 = Mul(%f1, %x0) {}
  %c1 = Add(%m1, %x1) {}
  %m2 = Mul(%f2, %c1) {}
  %c2 = Add(%m2, %x2) {}
  %s0 = Mul(%x0, %s) {}
  %s1 = Mul(%c1, %s) {}
  %s2 = Mul(%c2, %s) {}
  %t0 = Tanh(%s0) {}
  %t1 = Tanh(%s1) {}
  %t2 = Tanh(%s2) {}
  %h0 = Mul(%r0, %t0) {}
  %h1 = Mul(%r1, %t1) {}
  %h2 = Mul(%r2, %t2) {}
  %h = Concat(%h0, %h1, %h2) {axis=0}
  output %h, %c2
})";
}

// A constant for each column.
constexpr char kColumns[] = "const %s: float32[1,32] = synthetic 1";

// The largest recurrence that the catalog offers; NotFound: none.
absl::StatusOr<Kernel> RecurrenceIn(const Graph& graph) {
  const CudaCatalog catalog({.tf32 = true, .narrow = true});
  std::vector<Kernel> found;
  for (NodeId node = 0; node < graph.node_count(); ++node) {
    for (Kernel& kernel : catalog.KernelsAt(graph, node, true)) {
      if (kernel.family == "recurrence") found.push_back(std::move(kernel));
    }
  }
  if (found.empty()) return absl::NotFoundError("no recurrence");
  return *std::max_element(found.begin(), found.end(), [](const Kernel& a, const Kernel& b) {
    return a.nodes.size() < b.nodes.size();
  });
}

TEST(RecurrenceProblemTest, AllStepsOfALayerAreOneKernel) {
  const Graph graph = *ParseTypedGraph(Layer(kColumns));
  const absl::StatusOr<Kernel> kernel = RecurrenceIn(graph);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  EXPECT_EQ(static_cast<int>(kernel->nodes.size()), graph.node_count());
  const absl::StatusOr<ProblemCheck> check = CheckKernelProblemIn(graph, *kernel, 7, 1000000);
  ASSERT_TRUE(check.ok()) << check.status();
  EXPECT_LE(check->relative_l2, 1e-6);
  const auto& problem = std::get<RecurrenceProblem>(check->problem.problem);
  EXPECT_EQ(problem.columns, 32);
  // f, z, r and the constant; %g and %x have a step for each row.
  std::vector<int64_t> rows = problem.inputs;
  std::sort(rows.begin(), rows.end());
  EXPECT_EQ(rows, std::vector<int64_t>({1, 3, 3, 3}));
  EXPECT_EQ(problem.steps.size(), 3u + 3u + 4u + 3u + 3u + 3u);
  // Rows of an output lie one behind the other.
  ASSERT_EQ(problem.outputs.size(), 2u);
  EXPECT_EQ(problem.outputs[0].size() + problem.outputs[1].size(), 4u);
}

TEST(RecurrenceProblemTest, ASingleNumberIsWrittenIntoTheSteps) {
  const Graph graph = *ParseTypedGraph(Layer("const %s: float32[1] = [0.5]"));
  const absl::StatusOr<Kernel> kernel = RecurrenceIn(graph);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  const absl::StatusOr<ProblemCheck> check = CheckKernelProblemIn(graph, *kernel, 7, 1000000);
  ASSERT_TRUE(check.ok()) << check.status();
  EXPECT_LE(check->relative_l2, 1e-6);
  EXPECT_EQ(std::get<RecurrenceProblem>(check->problem.problem).inputs.size(), 3u);
}

// It has one element for all columns, and lies where no row does.
TEST(RecurrenceProblemTest, ANumberThatIsKnownAtRunTimeOnlyMakesItNone) {
  const Graph graph = *ParseTypedGraph(Layer("input %s: float32[1]"));
  EXPECT_EQ(RecurrenceIn(graph).status().code(), absl::StatusCode::kNotFound);
}

TEST(RecurrenceProblemTest, WhatNoExpressionHasStaysOutside) {
  const Graph graph = *ParseTypedGraph(Layer("input %q: float32[1,1,32]\n  %s = Cos(%q) {}"));
  ASSERT_EQ(graph.node(0).op, OpKind::kCos);
  const absl::StatusOr<Kernel> kernel = RecurrenceIn(graph);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  EXPECT_GT(kernel->nodes.front(), 0);
}

TEST(RecurrenceProblemTest, OthersNodesHaveNone) {
  const Graph graph = *ParseTypedGraph(Layer(kColumns));
  const Kernel whole = *RecurrenceIn(graph);
  ASSERT_TRUE(ProblemOfKernel(graph, whole).has_value());
  Kernel few = whole;
  few.nodes.resize(4);
  EXPECT_FALSE(ProblemOfKernel(graph, few).has_value());
  Kernel rounded = whole;
  rounded.variant = "tf32/auto";
  EXPECT_FALSE(ProblemOfKernel(graph, rounded).has_value());
  Kernel elsewhere = whole;
  elsewhere.input_formats.front() = Format::kChannelsLast;
  EXPECT_FALSE(ProblemOfKernel(graph, elsewhere).has_value());
}

}  // namespace
}  // namespace plait::cuda
