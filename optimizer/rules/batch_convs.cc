#include "optimizer/rules/patterns/batch_siblings.h"
#include "optimizer/rules/patterns/conv_view.h"
#include "optimizer/rules/rule.h"

namespace plait {

const Rule kBatchConvs = {
    .name = "batch_convs",
    .law = "Conv(x, w), Conv(y, w) = Split(Conv(Concat(x, y), w)), along the batch",
    // Networks that do the same to several images: the weights are read once, and a larger kernel
    // fills the device better. The images are copied side by side, and their results apart.
    .root = OpKind::kConv,
    .match = [](const Rule& rule, const Graph& graph, NodeId node) -> Rewrites {
      if (!ViewConv(graph, node)) return {};
      return BatchSiblings(graph, node, rule.misses);
    },
};

}  // namespace plait
