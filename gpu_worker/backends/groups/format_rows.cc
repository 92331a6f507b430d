#include "gpu_worker/backends/groups/format_rows.h"

#include <algorithm>

#include "optimizer/kernels/format_rules.h"

namespace plait {

FormatRow RowIn(const Graph& graph, absl::Span<const NodeId> nodes, Format format) {
  FormatRow row{.format = format};
  for (const TensorId input : InputsOf(graph, nodes)) {
    row.inputs.push_back(EffectiveFormat(graph.type(input), format));
  }
  for (const TensorId output : OutputsOf(graph, nodes)) {
    row.outputs.push_back(EffectiveFormat(graph.type(output), format));
  }
  return row;
}

std::vector<FormatRow> RowsIn(const Graph& graph, absl::Span<const NodeId> nodes,
                              absl::Span<const Format> formats) {
  std::vector<FormatRow> rows;
  for (const Format format : formats) {
    FormatRow row = RowIn(graph, nodes, format);
    const bool known = std::any_of(rows.begin(), rows.end(), [&](const FormatRow& other) {
      return other.inputs == row.inputs && other.outputs == row.outputs;
    });
    if (!known) rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<FormatRow> PlainRow(const Graph& graph, absl::Span<const NodeId> nodes) {
  return {RowIn(graph, nodes, Format::kPlain)};
}

std::vector<FormatRow> ChannelsLastRow(const Graph& graph, absl::Span<const NodeId> nodes) {
  return {RowIn(graph, nodes, Format::kChannelsLast)};
}

// Images have two formats worth measuring; which of them wins depends on the neighbours, and is the
// cover's to find.
std::vector<FormatRow> SpatialRows(const Graph& graph, absl::Span<const NodeId> nodes) {
  if (!IsSpatial(graph, nodes.front())) return PlainRow(graph, nodes);
  return RowsIn(graph, nodes, {Format::kPlain, Format::kChannelsLast});
}

bool IsSpatial(const Graph& graph, NodeId node) {
  return graph.input_type(node, 0).rank() == 4 && graph.output_type(node).rank() == 4;
}

std::vector<std::string> NameOfFormat(const Graph&, absl::Span<const NodeId>,
                                      const FormatRow& row) {
  return {std::string(FormatName(row.format))};
}

}  // namespace plait
