#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/offers/worth_dividing.h"
#include "gpu_worker/backends/groups/format_rows.h"
#include "gpu_worker/backends/groups/resized_image.h"

namespace plait {
namespace {

std::vector<FormatRow> FormatsOfResize(const Graph& graph, absl::Span<const NodeId> nodes) {
  return IsResizedImage(graph, nodes.front()) ? SpatialRows(graph, nodes) : PlainRow(graph, nodes);
}

}  // namespace

const FamilyOffer kResizeOffer = {
    .name = "resize",
    .runs = IsResized,
    .formats = FormatsOfResize,
    .reads_parts = true,
    .writes_parts = true,
    .worth_dividing = HasManyElements,
};

}  // namespace plait
