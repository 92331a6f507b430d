#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/onednn_kernel.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/run/strided_copy.h"
#include "optimizer/ops/shared/axes.h"

namespace plait {

// oneDNN's reorder for four-byte elements, whose blocking beats an element loop; a strided copy
// else.
absl::StatusOr<std::unique_ptr<CpuKernel>> LoadTranspose(LoadContext* context) {
  const Graph& graph = context->graph();
  const std::vector<NodeId>& nodes = context->kernel().nodes;
  if (nodes.size() != 1 || !kTransposeOffer.runs(graph, nodes[0])) return context->Refuse();
  const Node& node = graph.node(nodes[0]);
  PLAIT_ASSIGN_OR_RETURN(const Operand source, context->Find(node.inputs[0]));
  PLAIT_ASSIGN_OR_RETURN(const Operand result, context->Find(node.outputs[0]));
  std::vector<int64_t> order = node.attributes->Ints("perm");
  const int rank = result.type.rank();
  for (int i = 0; order.size() < static_cast<size_t>(rank); ++i) order.push_back(rank - 1 - i);
  const Shape source_strides = source.strides();
  Shape strides(rank);
  for (int i = 0; i < rank; ++i) strides[i] = source_strides[NormalAxis(order[i], rank)];
  if (BytesOf(source.type.dtype) == 4 && rank > 0) {
    return LoadStridedReorder(context, result.type.shape, {source.data, strides},
                              {result.data, result.strides()});
  }
  auto kernel = std::make_unique<CopyKernel>(context->width());
  kernel->Add(StridedCopy(BytesOf(source.type.dtype), result.type.shape, {source.data, strides},
                          {result.data, result.strides()}));
  return kernel;
}

}  // namespace plait
