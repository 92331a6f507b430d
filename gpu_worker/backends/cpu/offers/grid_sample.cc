#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/offers/worth_dividing.h"
#include "gpu_worker/backends/groups/format_rows.h"
#include "gpu_worker/backends/groups/node_checks.h"

namespace plait {
namespace {

bool RunsGridSample(const Graph& graph, NodeId node) {
  return IsOneOf(graph, node, {OpKind::kGridSample}) && AllFloat32(graph, node) &&
         graph.input_type(node, 0).elements() > 0 && graph.output_type(node).elements() > 0;
}

// Images in channels-last are read pixel by pixel. The grid is no image, and lies as it comes.
std::vector<FormatRow> FormatsOfGridSample(const Graph& graph, absl::Span<const NodeId> nodes) {
  std::vector<FormatRow> rows = PlainRow(graph, nodes);
  const std::vector<TensorId> inputs = InputsOf(graph, nodes);
  if (!IsSpatial(graph, nodes[0]) || inputs.size() != 2) return rows;
  FormatRow row = RowIn(graph, nodes, Format::kChannelsLast);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == graph.node(nodes[0]).inputs[1]) row.inputs[i] = Format::kPlain;
  }
  if (row.inputs != rows[0].inputs || row.outputs != rows[0].outputs) {
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

const FamilyOffer kGridSampleOffer = {
    .name = "grid_sample",
    .runs = RunsGridSample,
    .formats = FormatsOfGridSample,
    .worth_dividing = HasManyElements,
};

}  // namespace plait
