#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/offers/worth_dividing.h"
#include "gpu_worker/backends/groups/epilogue.h"
#include "gpu_worker/backends/groups/format_rows.h"
#include "gpu_worker/backends/groups/node_checks.h"
#include "optimizer/ops/shared/transposed_window.h"

namespace plait {
namespace {

// oneDNN sees the gradient of a convolution of the result. That convolution must have as many
// elements as the input has, so that padding at the end fills less than a step; and a window that
// is nothing but padding has no code.
bool IsWindowOfOnednn(const Graph& graph, NodeId node) {
  const Shape& weights = graph.input_type(node, 1).shape;
  const absl::StatusOr<std::vector<WindowAxis>> window =
      ReadTransposedWindow(*graph.node(node).attributes, graph.input_type(node, 0),
                           absl::MakeConstSpan(weights).subspan(2));
  if (!window.ok()) return false;
  for (const WindowAxis& axis : *window) {
    const int64_t uncut = (axis.output - 1) * axis.stride + axis.span();
    const int64_t behind = axis.input + axis.pad_begin + axis.pad_end - uncut;
    if (behind >= axis.stride) return false;
    if (axis.pad_begin >= axis.span() || axis.pad_end >= axis.span()) return false;
  }
  return true;
}

bool RunsConvTranspose(const Graph& graph, NodeId node) {
  if (!IsOneOf(graph, node, {OpKind::kConvTranspose})) return false;
  const int rank = graph.input_type(node, 0).rank();
  return AllFloat32(graph, node) && rank >= 3 && rank <= 5 && IsWindowOfOnednn(graph, node);
}

// Whether the kernel may work in channels-last: weights that arrive at run time are row-major.
bool HasPixels(const Graph& graph, NodeId node) {
  return IsSpatial(graph, node) && graph.tensor(graph.node(node).inputs[1]).constant != nullptr;
}

// What follows is applied to pixels, whose channels lie beside each other in channels-last only. In
// row-major images groups take several times as long: more than both conversions do.
std::vector<FormatRow> FormatsOfConvTranspose(const Graph& graph, absl::Span<const NodeId> nodes) {
  if (!HasPixels(graph, nodes.front())) return PlainRow(graph, nodes);
  const bool has_groups = graph.node(nodes.front()).attributes->Int("group", 1) > 1;
  if (nodes.size() == 1 && !has_groups)
    return RowsIn(graph, nodes, {Format::kPlain, Format::kChannelsLast});
  return ChannelsLastRow(graph, nodes);
}

std::vector<std::vector<NodeId>> GrowConvTranspose(const Graph& graph, NodeId node) {
  return RunsConvTranspose(graph, node) && HasPixels(graph, node)
             ? GrowEpilogues(graph, node)
             : std::vector<std::vector<NodeId>>();
}

}  // namespace

const FamilyOffer kConvTransposeOffer = {
    .name = "conv_transpose",
    .runs = RunsConvTranspose,
    .grow = GrowConvTranspose,
    .formats = FormatsOfConvTranspose,
    .worth_dividing = HasManyFlops,
};

}  // namespace plait
