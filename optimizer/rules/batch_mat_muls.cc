#include "optimizer/rules/patterns/batch_siblings.h"
#include "optimizer/rules/rule.h"

namespace plait {

const Rule kBatchMatMuls = {
    .name = "batch_mat_muls",
    .law = "MatMul(x, w) + b, MatMul(y, w) + b = Split(MatMul(Concat(x, y), w) + b), along rows",
    // The weights, which are most of the bytes of a product with few rows, are read once: what a
    // recurrent layer does to the inputs of its steps, or a network to two sentences. A stack of
    // matrices would have to be met by as many on the other side.
    .root = OpKind::kMatMul,
    .match = [](const Rule& rule, const Graph& graph, NodeId node) -> Rewrites {
      if (graph.constant(node, 1) == nullptr || graph.input_type(node, 1).rank() != 2) return {};
      return BatchSiblings(graph, node, rule.misses);
    },
};

}  // namespace plait
