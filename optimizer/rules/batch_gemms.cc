#include "optimizer/rules/patterns/batch_siblings.h"
#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

Rewrites MatchBatchGemms(const Rule& rule, const Graph& graph, NodeId node) {
  if (graph.constant(node, 1) == nullptr) return {};
  if (graph.node(node).attributes->Int("transA", 0) != 0) return {};
  const TensorId bias = InputOr(graph, node, 2);
  if (bias != kNoTensor && graph.type(bias).rank() == 2 && graph.type(bias).shape[0] != 1) {
    return {};
  }
  return BatchSiblings(graph, node, rule.misses);
}

}  // namespace

const Rule kBatchGemms = {
    .name = "batch_gemms",
    .law = "Gemm(x, w, b), Gemm(y, w, b) = Split(Gemm(Concat(x, y), w, b)), along rows",
    // As batch_mat_muls. Rows of a transposed x are columns, and a bias for each row would be one
    // for other rows.
    .root = OpKind::kGemm,
    .match = MatchBatchGemms,
};

}  // namespace plait
