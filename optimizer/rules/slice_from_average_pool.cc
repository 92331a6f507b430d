#include <algorithm>

#include "optimizer/rules/patterns/add_slice.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

Rewrites MatchSliceFromAveragePool(const Rule&, const Graph& graph, NodeId node) {
  const Attributes& attributes = *graph.node(node).attributes;
  const std::vector<int64_t> kernel = attributes.Ints("kernel_shape");
  if (std::any_of(kernel.begin(), kernel.end(), [](int64_t size) { return size != 1; })) return {};
  std::vector<int64_t> steps = attributes.Ints("strides");
  steps.resize(kernel.size(), 1);       // no strides are ones
  steps.insert(steps.begin(), {1, 1});  // batch and channels
  std::vector<SliceRange> ranges;
  for (const int64_t size : graph.output_type(node).shape) {
    ranges.push_back({0, steps[ranges.size()], size});
  }
  RewriteBuilder builder(graph);
  return builder.Replace(node, AddSlice(&builder, graph.node(node).inputs[0], ranges));
}

}  // namespace

const Rule kSliceFromAveragePool = {
    .name = "slice_from_average_pool",
    .law = "AveragePool(x, kernel 1, strides s) = Slice(x, steps s)",
    // The mean of one element is that element. Pads are smaller than the kernel, so there are none.
    // A slice meets other slices, pads and convolutions, which take it along.
    .root = OpKind::kAveragePool,
    .match = MatchSliceFromAveragePool,
    .always_wins = true,
};

}  // namespace plait
