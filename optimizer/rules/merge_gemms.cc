#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/merge_siblings.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

// Constant weights and a constant bias vector, or none.
bool HasConstantWeights(const Graph& graph, NodeId node) {
  if (graph.node(node).op != OpKind::kGemm || graph.constant(node, 1) == nullptr) return false;
  const TensorId bias = InputOr(graph, node, 2);
  return bias == kNoTensor || (graph.constant(node, 2) != nullptr && graph.type(bias).rank() == 1 &&
                               graph.type(bias).shape[0] == graph.output_type(node).shape[1]);
}

// Products of one x under equal attributes.
Rewrites Merge(const Graph& graph, absl::Span<const NodeId> gemms) {
  RewriteBuilder builder(graph);
  std::vector<TensorId> weights;
  std::vector<TensorId> biases;
  std::vector<TensorId> results;
  for (const NodeId gemm : gemms) {
    weights.push_back(graph.node(gemm).inputs[1]);
    biases.push_back(InputOr(graph, gemm, 2));
    results.push_back(graph.node(gemm).outputs[0]);
  }
  const Node& first = graph.node(gemms[0]);
  const int64_t columns_axis = first.attributes->Int("transB", 0) != 0 ? 0 : 1;
  const TensorId w = builder.Fold(OpKind::kConcat, weights, {{"axis", columns_axis}});
  TensorId bias = kNoTensor;
  if (biases[0] != kNoTensor) {
    bias = builder.Fold(OpKind::kConcat, biases, {{"axis", int64_t{0}}});
  }
  const TensorId merged = builder.Add(OpKind::kGemm, *first.attributes, {first.inputs[0], w, bias});
  return ReplaceBySplit(graph, &builder, merged, 1, results);
}

Rewrites Match(const Rule&, const Graph& graph, NodeId node) {
  if (!HasConstantWeights(graph, node)) return {};
  const Node& gemm = graph.node(node);
  std::vector<NodeId> gemms = {node};
  for (NodeId sibling : graph.users(gemm.inputs[0])) {
    const Node& other = graph.node(sibling);
    if (sibling > node && HasConstantWeights(graph, sibling) && other.inputs[0] == gemm.inputs[0] &&
        other.inputs.size() == gemm.inputs.size() && *other.attributes == *gemm.attributes) {
      gemms.push_back(sibling);
    }
  }
  return MergeSets(gemms, [&](absl::Span<const NodeId> set) { return Merge(graph, set); });
}

}  // namespace

const Rule kMergeGemms = {
    .name = "merge_gemms",
    .law = "Gemm(x, w, b), Gemm(x, v, c) = Split(Gemm(x, Concat(w, v), Concat(b, c)))",
    // x is read once, and one wide product fills the device better than narrow ones. Any number of
    // siblings, which all have a bias or none, so that none has to be invented.
    .root = OpKind::kGemm,
    .match = Match,
};

}  // namespace plait
