#include <algorithm>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/onednn_kernel.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/offers/node_checks.h"
#include "gpu_worker/backends/cpu/run/strided_copy.h"
#include "optimizer/kernels/strided_view.h"

namespace plait {
namespace {

// A Transpose alone may read a constant, which lies in rows; nullopt for what no kernel is of.
std::optional<StridedMove> MoveOf(const Graph& graph, const Kernel& kernel) {
  const std::vector<NodeId>& nodes = kernel.nodes;
  if (nodes.size() == 1 && kTransposeOffer.runs(graph, nodes[0])) {
    const StridedView rows = ViewOf(graph.input_type(nodes[0], 0), Format::kPlain);
    return StridedMove{*ViewThrough(graph, nodes[0], 0, rows),
                       ViewOf(graph.output_type(nodes[0]), Format::kPlain)};
  }
  const bool movable =
      std::all_of(nodes.begin(), nodes.end(), [&](NodeId node) { return IsMovable(graph, node); });
  if (!movable || kernel.input_formats.size() != 1 || kernel.output_formats.size() != 1) {
    return std::nullopt;
  }
  return MoveThrough(graph, nodes, kernel.input_formats[0], kernel.output_formats[0]);
}

}  // namespace

// oneDNN's reorder for four-byte elements, whose blocking beats an element loop; a strided copy
// else.
absl::StatusOr<std::unique_ptr<CpuKernel>> LoadTranspose(LoadContext* context) {
  const Graph& graph = context->graph();
  const std::vector<NodeId>& nodes = context->kernel().nodes;
  const std::optional<StridedMove> move = MoveOf(graph, context->kernel());
  if (!move.has_value()) return context->Refuse();
  PLAIT_ASSIGN_OR_RETURN(const Operand source, context->Find(graph.node(nodes.front()).inputs[0]));
  PLAIT_ASSIGN_OR_RETURN(const Operand result, context->Find(graph.node(nodes.back()).outputs[0]));
  const int64_t element_bytes = BytesOf(source.type.dtype);
  const Shape& shape = move->source.shape;
  const StridedElements read = {source.data, move->source.strides};
  const StridedElements written = {result.data, move->target.strides};
  if (element_bytes == 4 && !shape.empty())
    return LoadStridedReorder(context, shape, read, written);
  auto kernel = std::make_unique<CopyKernel>(context->width());
  kernel->Add(StridedCopy(element_bytes, shape, read, written));
  return kernel;
}

}  // namespace plait
