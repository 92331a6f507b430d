#include <algorithm>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/onednn_kernel.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/run/strided_copy.h"
#include "gpu_worker/backends/groups/node_checks.h"
#include "optimizer/kernels/strided_view.h"

namespace plait {
namespace {

// Between what the two places hold. A Transpose alone may read a constant, which lies in rows
// whatever the kernel says, so that the places are asked for their formats. nullopt for what no
// kernel is of.
std::optional<StridedMove> MoveOf(const Graph& graph, absl::Span<const NodeId> nodes,
                                  const Operand& source, const Operand& result) {
  if (nodes.size() > 1) return MoveThrough(graph, nodes, source.format, result.format);
  const std::optional<StridedView> view =
      ViewThrough(graph, nodes[0], 0, ViewOf(source.type, source.format));
  if (!view.has_value()) return std::nullopt;
  return StridedMove{*view, ViewOf(result.type, result.format)};
}

bool IsOffered(const Graph& graph, absl::Span<const NodeId> nodes) {
  if (nodes.size() == 1) return kTransposeOffer.runs(graph, nodes[0]);
  return !nodes.empty() && std::all_of(nodes.begin(), nodes.end(), [&](NodeId node) {
    return HasEnds(graph, node) && IsMovable(graph, node);
  });
}

}  // namespace

// oneDNN's reorder for four-byte elements, whose blocking beats an element loop; a strided copy
// else.
absl::StatusOr<std::unique_ptr<CpuKernel>> LoadTranspose(LoadContext* context) {
  const Graph& graph = context->graph();
  const std::vector<NodeId>& nodes = context->kernel().nodes;
  if (!IsOffered(graph, nodes)) return context->Refuse();
  PLAIT_ASSIGN_OR_RETURN(const Operand source, context->Find(graph.node(nodes.front()).inputs[0]));
  PLAIT_ASSIGN_OR_RETURN(const Operand result, context->Find(graph.node(nodes.back()).outputs[0]));
  const std::optional<StridedMove> move = MoveOf(graph, nodes, source, result);
  if (!move.has_value()) return context->Refuse();
  const int64_t element_bytes = BytesOf(source.type.dtype);
  const Shape& shape = move->source.shape;
  const StridedElements read = {source.data, move->source.strides};
  const StridedElements written = {result.data, move->target.strides};
  if (element_bytes == 4 && !shape.empty()) {
    return LoadStridedReorder(context, shape, read, written);
  }
  auto kernel = std::make_unique<CopyKernel>(context->width());
  kernel->Add(StridedCopy(element_bytes, shape, read, written));
  return kernel;
}

}  // namespace plait
