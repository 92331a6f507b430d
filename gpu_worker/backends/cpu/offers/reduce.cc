#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/offers/worth_dividing.h"
#include "gpu_worker/backends/groups/format_rows.h"
#include "gpu_worker/backends/groups/node_checks.h"
#include "gpu_worker/backends/groups/reduced_axes.h"

namespace plait {
namespace {

bool RunsReduce(const Graph& graph, NodeId node) {
  if (!IsOneOf(
          graph, node,
          {OpKind::kGlobalAveragePool, OpKind::kGlobalMaxPool, OpKind::kReduceL1, OpKind::kReduceL2,
           OpKind::kReduceLogSum, OpKind::kReduceLogSumExp, OpKind::kReduceMax, OpKind::kReduceMean,
           OpKind::kReduceMin, OpKind::kReduceSum, OpKind::kReduceSumSquare})) {
    return false;
  }
  const TensorType& input = graph.input_type(node, 0);
  if (input.dtype != DataType::kFloat32 || input.elements() == 0) return false;
  if (graph.output_type(node).elements() == 0) return false;
  const std::optional<std::vector<int>> axes = ReducedAxes(graph, node);
  return axes.has_value() && !axes->empty();
}

// Pixels lie between images and channels in channels-last: only all of them are one run there.
std::vector<FormatRow> FormatsOfReduce(const Graph& graph, absl::Span<const NodeId> nodes) {
  const std::optional<std::vector<int>> axes = ReducedAxes(graph, nodes.front());
  const bool over_pixels = graph.input_type(nodes.front(), 0).rank() == 4 && axes.has_value() &&
                           *axes == std::vector<int>({2, 3});
  if (!over_pixels) return PlainRow(graph, nodes);
  return RowsIn(graph, nodes, {Format::kPlain, Format::kChannelsLast});
}

}  // namespace

const FamilyOffer kReduceOffer = {
    .name = "reduce",
    .runs = RunsReduce,
    .formats = FormatsOfReduce,
    .worth_dividing = HasManyElements,
};

}  // namespace plait
