#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "gpu_worker/backends/cuda/offers/cuda_catalog.h"
#include "gpu_worker/backends/cuda/offers/cuda_family.h"
#include "optimizer/ops/shared/op_spec.h"
#include "tests/gpu_worker/backends/cuda/offers/problem_check.h"

namespace plait::cuda {
namespace {

// A layer of 5 units.
struct LayerText {
  std::string op = "LSTM";
  std::string outputs = "%y";
  std::string inputs;  // behind R
  std::string attributes;
  int directions = 1;
  std::string w = "const";  // or "input"
};

std::string TextOf(const LayerText& node) {
  const int gates = node.op == "LSTM" ? 4 : node.op == "GRU" ? 3 : 1;
  const std::string w = absl::Substitute("float32[$0,$1,3]$2", node.directions, gates * 5,
                                         node.w == "const" ? " = synthetic 1" : "");
  return absl::Substitute(
      R"(graph {
  input %x: float32[4,2,3]
  $6 %w: $0
  const %r: float32[$1,$2,5] = synthetic 2
  const %b: float32[$1,$3] = synthetic 3
  const %whole: int32[2] = [4,4]
  const %short: int32[2] = [4,3]
  input %h: float32[$1,2,5]
  input %c: float32[$1,2,5]
  const %p: float32[$1,15] = synthetic 4
  $4 = $5
  output $4
})",
      w, node.directions, gates * 5, gates * 10, node.outputs,
      absl::StrCat(node.op, "(%x, %w, %r", node.inputs, ") {", node.attributes, "}"), node.w);
}

// Of all families.
std::vector<Kernel> KernelsOf(const LayerText& node, Graph* graph) {
  const std::string text = TextOf(node);
  absl::StatusOr<Graph> parsed = ParseTypedGraph(text);
  EXPECT_TRUE(parsed.ok()) << parsed.status() << text;
  if (!parsed.ok()) return {};
  *graph = *std::move(parsed);
  return CudaCatalog({}).KernelsAt(*graph, 0, true);
}

TEST(RecurrentLayerProblemTest, IsWhatTheNodeSays) {
  const std::string both = "direction=\"bidirectional\"";
  const LayerText nodes[] = {
      {.op = "LSTM"},
      {.op = "LSTM", .outputs = "%y, %y1, %y2", .inputs = ", %b, %whole, %h, %c"},
      {.op = "LSTM", .outputs = "%y, %y1, %y2", .inputs = ", _, _, _, %c"},
      {.op = "LSTM", .outputs = "%y", .inputs = ", %b", .attributes = both, .directions = 2},
      {.op = "LSTM", .inputs = ", %b, _, %h", .attributes = "direction=\"reverse\""},
      {.op = "GRU", .outputs = "%y, %y1", .inputs = ", %b, _, %h"},
      {.op = "GRU", .inputs = ", %b", .attributes = "linear_before_reset=1"},
      {.op = "GRU",
       .outputs = "%y, %y1",
       .inputs = ", %b, _, %h",
       .attributes = both + ", linear_before_reset=1",
       .directions = 2},
      {.op = "RNN", .outputs = "%y, %y1", .inputs = ", %b, _, %h"},
      {.op = "RNN", .attributes = "activations=[\"Relu\"]"},
      {.op = "RNN", .attributes = "activations=[\"Relu\", \"Relu\"], " + both, .directions = 2}};
  for (const LayerText& node : nodes) {
    Graph graph;
    const std::vector<Kernel> kernels = KernelsOf(node, &graph);
    ASSERT_EQ(kernels.size(), 1u) << TextOf(node);
    EXPECT_EQ(kernels[0].family, "recurrent_layer") << TextOf(node);
    const absl::StatusOr<ProblemCheck> check =
        CheckKernelProblemIn(graph, kernels[0], 7, 1000000000);
    ASSERT_TRUE(check.ok()) << check.status() << TextOf(node);
    EXPECT_LE(check->relative_l2, 1e-6) << TextOf(node);
  }
}

// What nobody reads is not written.
TEST(RecurrentLayerProblemTest, HasTheOutputsThatAreRead) {
  const absl::StatusOr<Graph> graph = ParseTypedGraph(R"(graph {
  input %x: float32[4,2,3]
  const %w: float32[1,20,3] = synthetic 1
  const %r: float32[1,20,5] = synthetic 2
  %y, %y1, %y2 = LSTM(%x, %w, %r) {}
  output %y1
})");
  ASSERT_TRUE(graph.ok()) << graph.status();
  const std::vector<Kernel> kernels = CudaCatalog({}).KernelsAt(*graph, 0, true);
  ASSERT_EQ(kernels.size(), 1u);
  const absl::StatusOr<ProblemCheck> check = CheckKernelProblem(*graph, kernels[0], 7, 1000000000);
  ASSERT_TRUE(check.ok()) << check.status();
  const auto& layer = std::get<RecurrentLayerProblem>(check->problem.problem);
  EXPECT_TRUE(!layer.y && layer.y_h && !layer.y_c);
  EXPECT_LE(check->relative_l2, 1e-6);
}

TEST(RecurrentLayerProblemTest, LeavesOthersToTheHost) {
  const LayerText nodes[] = {
      {.inputs = ", %b, %short"},
      {.inputs = ", %b, _, _, _, %p"},
      {.attributes = "clip=1.5"},
      {.attributes = "input_forget=1"},
      {.attributes = "activations=[\"HardSigmoid\", \"Tanh\", \"Tanh\"]"},
      {.attributes = "activations=[\"Sigmoid\", \"Relu\", \"Tanh\"]"},
      {.op = "RNN",
       .attributes = "activations=[\"Relu\", \"Tanh\"], direction=\"bidirectional\"",
       .directions = 2},
      {.op = "RNN", .attributes = "activations=[\"Sigmoid\"]"},
      {.w = "input"}};
  for (const LayerText& node : nodes) {
    Graph graph;
    const std::vector<Kernel> kernels = KernelsOf(node, &graph);
    ASSERT_EQ(kernels.size(), 1u) << TextOf(node);
    EXPECT_EQ(kernels[0].family, kHostFamily) << TextOf(node);
  }
}

// The batch in front, and more steps than a graph should have nodes.
TEST(RecurrentLayerProblemTest, LeavesOtherShapesToTheHost) {
  for (const auto& [steps, attributes] : {std::pair(4, "layout=1"), std::pair(5000, "layout=0")}) {
    const std::string text = absl::Substitute(R"(graph {
  input %x: float32[$0,2,3]
  const %w: float32[1,20,3] = synthetic 1
  const %r: float32[1,20,5] = synthetic 2
  %y = LSTM(%x, %w, %r) {$1}
  output %y
})",
                                              steps, attributes);
    const absl::StatusOr<Graph> graph = ParseTypedGraph(text);
    ASSERT_TRUE(graph.ok()) << graph.status() << text;
    const std::vector<Kernel> kernels = CudaCatalog({}).KernelsAt(*graph, 0, true);
    ASSERT_EQ(kernels.size(), 1u) << text;
    EXPECT_EQ(kernels[0].family, kHostFamily) << text;
  }
}

}  // namespace
}  // namespace plait::cuda
