#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/offers/softmax_pattern.h"
#include "gpu_worker/backends/cpu/offers/worth_dividing.h"
#include "gpu_worker/backends/groups/elementwise_group.h"
#include "gpu_worker/backends/groups/format_rows.h"
#include "gpu_worker/backends/groups/node_checks.h"

namespace plait {
namespace {

// The longest pattern that starts at an elementwise node: its scale, its mask, the softmax.
// Values between them have one reader each: they are never written.
std::vector<std::vector<NodeId>> GrowSoftmax(const Graph& graph, NodeId node) {
  if (!HasEnds(graph, node) || !IsElementwise(graph, node)) return {};
  std::vector<NodeId> nodes = {node};
  while (nodes.size() < 3 && !IsSoftmax(graph, nodes.back())) {
    const Node& last = graph.node(nodes.back());
    if (last.outputs.size() != 1 || !graph.has_single_use(last.outputs[0])) return {};
    nodes.push_back(graph.users(last.outputs[0])[0]);
  }
  if (!ParseSoftmax(graph, nodes).has_value()) return {};
  return {std::move(nodes)};
}

}  // namespace

const FamilyOffer kSoftmaxOffer = {
    .name = "softmax",
    .runs = IsSoftmax,
    .grow = GrowSoftmax,
    .formats = PlainRow,
    .worth_dividing = HasManyElements,
};

}  // namespace plait
