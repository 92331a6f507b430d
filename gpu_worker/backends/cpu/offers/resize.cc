#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/offers/worth_dividing.h"
#include "gpu_worker/backends/groups/format_rows.h"
#include "gpu_worker/backends/groups/node_checks.h"
#include "optimizer/ops/shared/resizing.h"

namespace plait {
namespace {

// Images whose rows and columns change. A crop has pixels that are made of none.
bool RunsResize(const Graph& graph, NodeId id) {
  if (!IsOneOf(graph, id, {OpKind::kResize}) || !IsSpatial(graph, id)) return false;
  if (graph.input_type(id, 0).dtype != DataType::kFloat32) return false;
  if (graph.input_type(id, 0).elements() == 0 || graph.output_type(id).elements() == 0) {
    return false;
  }
  const absl::StatusOr<Resizing> resizing = ReadResizing(graph, id);
  return resizing.ok() && resizing->resampling.coordinates != Resampling::Coordinates::kCrop &&
         IsKept(resizing->resampling, resizing->axes[0]) &&
         IsKept(resizing->resampling, resizing->axes[1]);
}

}  // namespace

const FamilyOffer kResizeOffer = {
    .name = "resize",
    .runs = RunsResize,
    .formats = SpatialRows,
    .reads_parts = true,
    .writes_parts = true,
    .worth_dividing = HasManyElements,
};

}  // namespace plait
