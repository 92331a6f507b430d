#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/onednn_kernel.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/run/strided_copy.h"
#include "optimizer/ops/shared/permutation.h"

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
  const Shape source_strides = source.strides();
  Shape strides;
  for (const int64_t axis : PermutationOf(graph, nodes[0])) strides.push_back(source_strides[axis]);
  if (BytesOf(source.type.dtype) == 4 && !strides.empty()) {
    return LoadStridedReorder(context, result.type.shape, {source.data, strides},
                              {result.data, result.strides()});
  }
  auto kernel = std::make_unique<CopyKernel>(context->width());
  kernel->Add(StridedCopy(BytesOf(source.type.dtype), result.type.shape, {source.data, strides},
                          {result.data, result.strides()}));
  return kernel;
}

}  // namespace plait
