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

std::optional<Rewrite> Match(const Graph& graph, NodeId node) {
  if (!HasConstantWeights(graph, node)) return std::nullopt;
  const Node& gemm = graph.node(node);
  for (NodeId sibling : graph.users(gemm.inputs[0])) {
    const Node& other = graph.node(sibling);
    if (sibling <= node || !HasConstantWeights(graph, sibling) ||
        other.inputs[0] != gemm.inputs[0] || other.inputs.size() != gemm.inputs.size() ||
        !(*other.attributes == *gemm.attributes)) {
      continue;
    }
    RewriteBuilder builder(graph);
    const int64_t columns_axis = gemm.attributes->Int("transB", 0) != 0 ? 0 : 1;
    std::vector<TensorId> inputs = {
        gemm.inputs[0], builder.AddConstant(builder.Fold(OpKind::kConcat, {{"axis", columns_axis}},
                                                         {builder.ConstantOf(gemm.inputs[1]),
                                                          builder.ConstantOf(other.inputs[1])}))};
    if (InputOr(graph, node, 2) != kNoTensor) {
      inputs.push_back(builder.AddConstant(
          builder.Fold(OpKind::kConcat, {{"axis", int64_t{0}}},
                       {builder.ConstantOf(gemm.inputs[2]), builder.ConstantOf(other.inputs[2])})));
    }
    const TensorId merged = builder.Add(OpKind::kGemm, *gemm.attributes, inputs);
    builder.Remove(node);
    builder.Remove(sibling);
    ReplaceBySplit(graph, &builder, merged, 1, gemm.outputs[0], other.outputs[0]);
    return builder.Finish();
  }
  return std::nullopt;
}

}  // namespace

extern const Rule kMergeGemms = {
    .name = "merge_gemms",
    .law = "Gemm(x, w, b), Gemm(x, v, c) = Split(Gemm(x, Concat(w, v), Concat(b, c)))",
    .root = OpKind::kGemm,
    .match = Match,
};

}  // namespace plait
