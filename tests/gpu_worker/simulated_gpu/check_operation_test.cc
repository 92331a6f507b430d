#include "gpu_worker/simulated_gpu/cudnn/check_operation.h"

#include <utility>

#include "gtest/gtest.h"

namespace plait::simulated_gpu {
namespace {

using Sizes = std::vector<int64_t>;

// A layer norm of [2, 8, 4, 4] whose scale and shift have `sizes`.
absl::Status CheckLayerNorm(const Sizes& sizes, const Sizes& epsilon = {1, 1, 1, 1}) {
  const Sizes x = {2, 8, 4, 4};
  OperationGraph graph;
  for (const Sizes& operand : {x, sizes, sizes, epsilon, x}) {
    graph.tensors.push_back({.sizes = operand});
  }
  graph.operations = {{LayerNormOperation(), {0, 1, 2, 3}, 4}};
  return CheckOperation(graph, graph.operations[0]);
}

TEST(CheckOperationTest, ScaleAndShiftOfALayerNormHaveANumberForEachColumn) {
  EXPECT_TRUE(CheckLayerNorm({1, 8, 4, 4}).ok());
  EXPECT_FALSE(CheckLayerNorm({1, 8, 1, 1}).ok());
  EXPECT_FALSE(CheckLayerNorm({2, 8, 4, 4}).ok());
  EXPECT_FALSE(CheckLayerNorm({1, 8, 4, 4}, {1, 8, 1, 1}).ok()) << "one epsilon";
}

TEST(CheckOperationTest, AnAttentionHasOneScale) {
  const Sizes heads = {1, 2, 4, 8};
  OperationGraph graph;
  for (const Sizes& operand : {heads, heads, heads, Sizes{1, 1, 1, 1}, heads}) {
    graph.tensors.push_back({.sizes = operand});
  }
  graph.operations = {{AttentionOperation(), {0, 1, 2, 3}, 4}};
  EXPECT_TRUE(CheckOperation(graph, graph.operations[0]).ok());
  graph.tensors[3].sizes = {1, 2, 1, 1};
  EXPECT_FALSE(CheckOperation(graph, graph.operations[0]).ok());
}

// It is one word of a launch.
TEST(CheckOperationTest, ATensorByValueIsOneNumberThatIsRead) {
  OperationGraph graph;
  graph.tensors = {{.sizes = {1, 8}}, {.sizes = {1, 8}, .is_by_value = true}, {.sizes = {1, 8}}};
  graph.operations = {{PointwiseOperation(), {0, 1}, 2}};
  EXPECT_FALSE(CheckOperation(graph, graph.operations[0]).ok());
  graph.tensors[1].sizes = {1, 1};
  EXPECT_TRUE(CheckOperation(graph, graph.operations[0]).ok());
  graph.tensors[1].is_by_value = false;
  graph.tensors[2] = {.sizes = {1, 8}, .is_by_value = true};
  EXPECT_FALSE(CheckOperation(graph, graph.operations[0]).ok());
}

}  // namespace
}  // namespace plait::simulated_gpu
