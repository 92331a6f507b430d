#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/merge_siblings.h"
#include "optimizer/rules/patterns/reasons.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

// Constant weights and a constant bias vector, or none.
bool HasConstantWeights(const Graph& graph, NodeId gemm, Misses misses) {
  const auto miss = [&](absl::string_view what) {
    misses.Because([&] { return absl::StrCat(NodeText(graph, gemm), what); });
    return false;
  };
  if (graph.constant(gemm, 1) == nullptr) return miss(" has weights that are not constant");
  const TensorId bias = InputOr(graph, gemm, 2);
  if (bias == kNoTensor) return true;
  const bool is_vector = graph.constant(gemm, 2) != nullptr && graph.type(bias).rank() == 1 &&
                         graph.type(bias).shape[0] == graph.output_type(gemm).shape[1];
  return is_vector || miss(" has a bias that is no constant vector");
}

// Products of one x under equal attributes.
Rewrites MergeGemms(const Graph& graph, absl::Span<const NodeId> gemms) {
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

Rewrites MatchMergeGemms(const Rule& rule, const Graph& graph, NodeId node) {
  const Node& gemm = graph.node(node);
  const auto is_sibling = [&](NodeId user) {
    const Node& other = graph.node(user);
    return user > node && other.op == OpKind::kGemm && other.inputs[0] == gemm.inputs[0];
  };
  if (absl::c_none_of(graph.users(gemm.inputs[0]), is_sibling)) return {};
  if (!HasConstantWeights(graph, node, rule.misses)) return {};
  std::vector<NodeId> gemms = {node};
  for (NodeId sibling : graph.users(gemm.inputs[0])) {
    if (!is_sibling(sibling) || !HasConstantWeights(graph, sibling, rule.misses)) continue;
    const Node& other = graph.node(sibling);
    if (other.inputs.size() == gemm.inputs.size() && *other.attributes == *gemm.attributes) {
      gemms.push_back(sibling);
    } else {
      rule.misses.Because([&] {
        return absl::StrCat(NodeText(graph, sibling), " and ", NodeText(graph, node),
                            " differ in attributes, or one alone has a bias");
      });
    }
  }
  return MergeSets(gemms, [&](absl::Span<const NodeId> set) { return MergeGemms(graph, set); });
}

}  // namespace

const Rule kMergeGemms = {
    .name = "merge_gemms",
    .law = "Gemm(x, w, b), Gemm(x, v, c) = Split(Gemm(x, Concat(w, v), Concat(b, c)))",
    // x is read once, and one wide product fills the device better than narrow ones. Any number of
    // siblings, which all have a bias or none, so that none has to be invented.
    .root = OpKind::kGemm,
    .match = MatchMergeGemms,
};

}  // namespace plait
