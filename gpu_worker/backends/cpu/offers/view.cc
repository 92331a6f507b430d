#include "gpu_worker/backends/cpu/offers/format_rows.h"
#include "gpu_worker/backends/cpu/offers/node_checks.h"
#include "optimizer/ops/shared/op_spec.h"

namespace plait {
namespace {

// A constant lies among the weights, whose bytes no result may take over.
bool Runs(const Graph& graph, NodeId node) {
  if (!HasEnds(graph, node) || !HasTraits(graph.node(node).op, kView)) return false;
  return graph.tensor(graph.node(node).inputs[0]).constant == nullptr &&
         HasOneOutput(graph.node(node)) && BytesOf(graph.output_type(node).dtype) > 0;
}

// Bytes in another order stay what they are only under the same shape.
std::vector<FormatRow> Formats(const Graph& graph, absl::Span<const NodeId> nodes) {
  const TensorType& input = graph.input_type(nodes.front(), 0);
  if (input.rank() != 4 || input.shape != graph.output_type(nodes.front()).shape) {
    return PlainRow(graph, nodes);
  }
  return RowsIn(graph, nodes, {Format::kPlain, Format::kChannelsLast});
}

}  // namespace

const FamilyOffer kViewOffer = {
    .name = kViewFamily,
    .runs = Runs,
    .formats = Formats,
};

}  // namespace plait
