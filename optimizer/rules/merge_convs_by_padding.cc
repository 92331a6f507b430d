#include "optimizer/rules/patterns/merge_convs_pattern.h"
#include "optimizer/rules/rule.h"

namespace plait {

const Rule kMergeConvsByPadding = {
    .name = "merge_convs_by_padding",
    .law =
        "Conv(x, w), Conv(x, v) = Split(Conv(x, Concat(Pad(w), Pad(v)))), kernels of other sizes",
    // As merge_convs, at the price of products with zeros: a 1x1 beside a 3x3 kernel takes nine
    // times its arithmetic. Dense kernels, whose outputs have one height and width.
    .root = OpKind::kConv,
    .match =
        [](const Rule& rule, const Graph& graph, NodeId node) {
          return MergeConvs(graph, node, MergedKernels::kPadded, rule.misses);
        },
};

}  // namespace plait
