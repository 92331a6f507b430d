#include "gpu_worker/backends/groups/resized_image.h"

#include "gpu_worker/backends/groups/node_checks.h"
#include "optimizer/ops/shared/resizing.h"

namespace plait {

bool IsResizedImage(const Graph& graph, NodeId node) {
  if (!IsOneOf(graph, node, {OpKind::kResize}) || !IsSpatial(graph, node)) return false;
  if (graph.input_type(node, 0).dtype != DataType::kFloat32) return false;
  if (graph.input_type(node, 0).elements() == 0 || graph.output_type(node).elements() == 0) {
    return false;
  }
  const absl::StatusOr<Resizing> resizing = ReadResizing(graph, node);
  return resizing.ok() && resizing->resampling.coordinates != Resampling::Coordinates::kCrop &&
         IsKept(resizing->resampling, resizing->axes[0]) &&
         IsKept(resizing->resampling, resizing->axes[1]);
}

}  // namespace plait
