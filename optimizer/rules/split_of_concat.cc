#include "optimizer/ops/shared/axes.h"
#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/rewrite_builder.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

// Inputs of the Concat and outputs of the Split that cover the same elements.
struct Block {
  std::vector<TensorId> inputs;
  std::vector<TensorId> outputs;
};

// Cuts both where their parts end together. The inputs x of 2, y of 4 and z of 6 elements and the
// outputs of 6, 3 and 3 make two blocks, {x, y} of the first output and {z} of the others. What is
// left over when the last parts do not end together (outputs may be left out) makes no block.
std::vector<Block> BlocksOf(const Graph& graph, NodeId concat, NodeId split, int64_t axis) {
  std::vector<Block> blocks;
  Block block;
  int64_t ahead = 0;  // elements of inputs, less those of outputs
  size_t next_output = 0;
  const auto& outputs = graph.node(split).outputs;
  for (const TensorId input : graph.node(concat).inputs) {
    block.inputs.push_back(input);
    ahead += graph.type(input).shape[axis];
    while (ahead > 0 && next_output < outputs.size()) {
      if (outputs[next_output] == kNoTensor) return {};
      block.outputs.push_back(outputs[next_output]);
      ahead -= graph.type(outputs[next_output++]).shape[axis];
    }
    if (ahead != 0 || block.outputs.empty()) continue;
    blocks.push_back(std::move(block));
    block = Block();
  }
  return ahead == 0 && next_output == outputs.size() ? blocks : std::vector<Block>();
}

Rewrites MatchSplitOfConcat(const Rule&, const Graph& graph, NodeId node) {
  const NodeId concat = SoleProducerOf(graph, node, 0, OpKind::kConcat);
  if (concat == kNoNode) return {};
  const int64_t rank = graph.output_type(concat).rank();
  const int64_t axis = NormalAxis(graph.node(node).attributes->Int("axis", 0), rank);
  if (NormalAxis(graph.node(concat).attributes->Int("axis", 0), rank) != axis) return {};
  const std::vector<Block> blocks = BlocksOf(graph, concat, node, axis);
  if (blocks.size() < 2) return {};
  RewriteBuilder builder(graph);
  for (const auto& [inputs, outputs] : blocks) {
    if (inputs.size() > 1 && outputs.size() > 1) return {};
    if (outputs.size() == 1) {
      const TensorId joined =
          inputs.size() == 1 ? inputs[0] : builder.Add(OpKind::kConcat, {{"axis", axis}}, inputs);
      builder.Rewire(outputs[0], joined);
      continue;
    }
    std::vector<int64_t> sizes;
    for (const TensorId output : outputs) sizes.push_back(graph.type(output).shape[axis]);
    const std::vector<TensorId> split_inputs = {inputs[0],
                                                builder.AddConstant(Tensor::Int64s(sizes))};
    const std::vector<TensorId> parts = builder.AddMany(
        OpKind::kSplit, {{"axis", axis}}, split_inputs, static_cast<int>(outputs.size()));
    for (size_t i = 0; i < outputs.size(); ++i) builder.Rewire(outputs[i], parts[i]);
  }
  return builder.Finish();
}

}  // namespace

const Rule kSplitOfConcat = {
    .name = "split_of_concat",
    .law = "Split(Concat(x, y, z)) = Concat(x, y), Split(z), where parts of both end together",
    // Every element is copied once at most instead of twice, but by more operators: the search
    // decides. Where several inputs were cut into several outputs, nothing would be won.
    .root = OpKind::kSplit,
    .match = MatchSplitOfConcat,
};

}  // namespace plait
