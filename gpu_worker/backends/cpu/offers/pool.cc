#include <algorithm>

#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/offers/worth_dividing.h"
#include "gpu_worker/backends/groups/format_rows.h"
#include "gpu_worker/backends/groups/node_checks.h"

namespace plait {
namespace {

// Windows that lie in padding altogether, which a pad as large as the kernel makes, have no
// maximum.
bool RunsPool(const Graph& graph, NodeId id) {
  if (!IsOneOf(graph, id, {OpKind::kAveragePool, OpKind::kMaxPool})) return false;
  const Node& node = graph.node(id);
  const int rank = graph.input_type(id, 0).rank();
  if (!HasOneReadOutput(graph, node) || !AllFloat32(graph, id) || !HasExplicitPadding(node)) {
    return false;
  }
  if (rank < 3 || rank > 5) return false;
  const std::vector<int64_t> dilations = node.attributes->Ints("dilations");
  if (std::any_of(dilations.begin(), dilations.end(), [](int64_t d) { return d != 1; }))
    return false;
  const std::vector<int64_t> kernel = node.attributes->Ints("kernel_shape");
  const std::vector<int64_t> pads = node.attributes->Ints("pads");
  for (size_t i = 0; i < pads.size() && kernel.size() * 2 == pads.size(); ++i) {
    if (pads[i] >= kernel[i % kernel.size()]) return false;
  }
  // Rounding up makes windows that hang over the padded input; only oneDNN's maximum and the mean
  // without padding are defined alike there.
  return node.attributes->Int("ceil_mode", 0) == 0 ||
         node.attributes->Int("count_include_pad", 0) == 0;
}

// Images in channels-last are pool_pixels', which takes less time for them.
std::vector<FormatRow> FormatsOfPool(const Graph& graph, absl::Span<const NodeId> nodes) {
  return kPoolPixelsOffer.runs(graph, nodes[0]) ? PlainRow(graph, nodes)
                                                : SpatialRows(graph, nodes);
}

}  // namespace

const FamilyOffer kPoolOffer = {
    .name = "pool",
    .runs = RunsPool,
    .formats = FormatsOfPool,
    .variants = NameOfFormat,
    .expected_share = [](const Kernel&) { return 0.2; },
    .worth_dividing = HasManyElements,
};

}  // namespace plait
