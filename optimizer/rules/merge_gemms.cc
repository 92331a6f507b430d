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

Rewrites Match(const Rule&, const Graph& graph, NodeId node) {
  if (!HasConstantWeights(graph, node)) return {};
  const Node& gemm = graph.node(node);
  const TensorId x = gemm.inputs[0];
  for (NodeId sibling : graph.users(x)) {
    const Node& other = graph.node(sibling);
    if (sibling <= node || !HasConstantWeights(graph, sibling) || other.inputs[0] != x ||
        other.inputs.size() != gemm.inputs.size() || *other.attributes != *gemm.attributes) {
      continue;
    }
    RewriteBuilder builder(graph);
    const int64_t columns_axis = gemm.attributes->Int("transB", 0) != 0 ? 0 : 1;
    const TensorId w =
        builder.Fold(OpKind::kConcat, {gemm.inputs[1], other.inputs[1]}, {{"axis", columns_axis}});
    TensorId bias = kNoTensor;
    if (InputOr(graph, node, 2) != kNoTensor) {
      bias =
          builder.Fold(OpKind::kConcat, {gemm.inputs[2], other.inputs[2]}, {{"axis", int64_t{0}}});
    }
    const TensorId merged = builder.Add(OpKind::kGemm, *gemm.attributes, {x, w, bias});
    return ReplaceBySplit(graph, &builder, merged, 1, gemm.outputs[0], other.outputs[0]);
  }
  return {};
}

}  // namespace

const Rule kMergeGemms = {
    .name = "merge_gemms",
    .law = "Gemm(x, w, b), Gemm(x, v, c) = Split(Gemm(x, Concat(w, v), Concat(b, c)))",
    // x is read once, and one wide product fills the device better than two narrow ones. Both have
    // a bias or neither, so that none has to be invented.
    .root = OpKind::kGemm,
    .match = Match,
};

}  // namespace plait
