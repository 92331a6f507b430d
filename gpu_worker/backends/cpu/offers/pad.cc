#include <algorithm>

#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/offers/worth_dividing.h"
#include "gpu_worker/backends/groups/format_rows.h"
#include "gpu_worker/backends/groups/node_checks.h"
#include "optimizer/ops/shared/padding.h"

namespace plait {
namespace {

// A negative pad would crop.
bool RunsPad(const Graph& graph, NodeId node) {
  if (!IsOneOf(graph, node, {OpKind::kPad}) || !IsMovable(graph, node)) return false;
  if (!HasInlineInputs(graph, graph.node(node), 1)) return false;
  const absl::StatusOr<PadMode> mode = PadModeOf(*graph.node(node).attributes);
  if (!mode.ok()) return false;
  if (*mode != PadMode::kConstant && graph.output_type(node).rank() == 0) return false;
  const std::vector<int64_t> pads = graph.inline_constant(node, 1)->AsInt64s();
  return std::all_of(pads.begin(), pads.end(), [](int64_t pad) { return pad >= 0; });
}

}  // namespace

const FamilyOffer kPadOffer = {
    .name = "pad",
    .runs = RunsPad,
    .formats = SpatialRows,
    .reads_parts = true,
    .worth_dividing = HasManyElements,
};

}  // namespace plait
