#include "optimizer/rules/patterns/merge_convs_pattern.h"
#include "optimizer/rules/rule.h"

namespace plait {

const Rule kMergeConvs = {
    .name = "merge_convs",
    .law = "Conv(x, w), Conv(x, v) = Split(Conv(x, Concat(w, v)))",
    // x is read once and one larger kernel fills the device better; the parts must be told apart
    // again unless their readers can. Any number of siblings with equal kernels, pads and steps,
    // and one group.
    .root = OpKind::kConv,
    .match =
        [](const Rule& rule, const Graph& graph, NodeId node) {
          return MergeConvs(graph, node, MergedKernels::kEqual, rule.misses);
        },
};

}  // namespace plait
