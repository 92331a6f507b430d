#include "gpu_worker/backends/groups/resized_image.h"

#include <optional>
#include <utility>

#include "gpu_worker/backends/groups/node_checks.h"
#include "optimizer/ops/shared/resizing.h"

namespace plait {
namespace {

constexpr int64_t kMiddleTapsMax = int64_t{1} << 24;

// nullopt: no Resize of floats.
std::optional<Resizing> ResizingAt(const Graph& graph, NodeId node) {
  if (!IsOneOf(graph, node, {OpKind::kResize})) return std::nullopt;
  if (graph.input_type(node, 0).dtype != DataType::kFloat32) return std::nullopt;
  if (graph.input_type(node, 0).elements() == 0 || graph.output_type(node).elements() == 0) {
    return std::nullopt;
  }
  absl::StatusOr<Resizing> resizing = ReadResizing(graph, node);
  return resizing.ok() ? std::make_optional(*std::move(resizing)) : std::nullopt;
}

}  // namespace

bool IsResizedImage(const Graph& graph, NodeId node) {
  const std::optional<Resizing> resizing = ResizingAt(graph, node);
  return resizing.has_value() && IsSpatial(graph, node) &&
         resizing->resampling.coordinates != Resampling::Coordinates::kCrop &&
         IsKept(resizing->resampling, resizing->axes[0]) &&
         IsKept(resizing->resampling, resizing->axes[1]);
}

bool IsResized(const Graph& graph, NodeId node) {
  const std::optional<Resizing> resizing = ResizingAt(graph, node);
  if (!resizing.has_value() || resizing->axes.empty()) return false;
  int64_t taps = 1;
  bool is_behind = false;  // an axis that changes, or is one
  for (size_t i = 0; i + 1 < resizing->axes.size() && taps <= kMiddleTapsMax; ++i) {
    const ResizedAxis& axis = resizing->axes[i];
    const bool is_kept = IsKept(resizing->resampling, axis);
    is_behind = is_behind || !is_kept;
    if (is_behind) taps *= axis.output;
    if (!is_kept) taps *= TapsPerElement(resizing->resampling, axis);
  }
  return taps <= kMiddleTapsMax;
}

}  // namespace plait
