#include <algorithm>

#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/rule.h"

namespace plait {

const Rule kRemoveNoopPad = {
    .name = "remove_noop_pad",
    .law = "Pad(x, 0) = x",
    // With no padding on any side the operator copies.
    .root = OpKind::kPad,
    .match = [](const Rule&, const Graph& graph, NodeId node) -> Rewrites {
      const auto pads = IntsAt(graph, node, 1);
      if (!pads || std::any_of(pads->begin(), pads->end(), [](int64_t pad) { return pad != 0; })) {
        return {};
      }
      return {Rewrite::Replace(graph, node, graph.node(node).inputs[0])};
    },
    .always_wins = true,
};

}  // namespace plait
