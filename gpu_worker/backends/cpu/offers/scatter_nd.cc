#include <limits>

#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/offers/worth_dividing.h"
#include "gpu_worker/backends/groups/format_rows.h"
#include "gpu_worker/backends/groups/node_checks.h"
#include "optimizer/ops/shared/scattering.h"

namespace plait {
namespace {

// What only replaces need not be understood. Updates are numbered in int32.
bool RunsScatterNd(const Graph& graph, NodeId node) {
  if (!IsOneOf(graph, node, {OpKind::kScatterND})) return false;
  const TensorType& indices = graph.input_type(node, kScatterIndices);
  const absl::StatusOr<Meeting> meeting = MeetingOf(*graph.node(node).attributes);
  const DataType dtype = graph.input_type(node, 0).dtype;
  return IsMovable(graph, node) &&
         (indices.dtype == DataType::kInt64 || indices.dtype == DataType::kInt32) &&
         indices.elements() > 0 && indices.elements() <= std::numeric_limits<int32_t>::max() &&
         meeting.ok() && (*meeting == Meeting::kReplace || IsFloat(dtype) || IsInteger(dtype));
}

}  // namespace

const FamilyOffer kScatterNdOffer = {
    .name = "scatter_nd",
    .runs = RunsScatterNd,
    .formats = PlainRow,
    .worth_dividing = HasManyElements,
};

}  // namespace plait
