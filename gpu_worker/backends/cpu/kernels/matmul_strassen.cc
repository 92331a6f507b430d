#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/strassen_kernel.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"

namespace plait {

// MatMul and Gemm by a constant matrix, with fewer multiplications (see loops/loops.h).
absl::StatusOr<std::unique_ptr<CpuKernel>> LoadMatmulStrassen(LoadContext* context) {
  const Graph& graph = context->graph();
  const std::vector<NodeId>& nodes = context->kernel().nodes;
  if (nodes.empty() || !kMatmulStrassenOffer.runs(graph, nodes[0])) return context->Refuse();
  const ConstantProduct shape = *ConstantProductAt(graph, nodes[0]);
  PLAIT_ASSIGN_OR_RETURN(RowLayer layer, ReadRowLayer(context, Format::kPlain, shape.columns));
  const TensorId right = graph.node(nodes[0]).inputs[1];
  return StrassenKernel::Create(context, shape, right, std::move(layer), shape.depth);
}

}  // namespace plait
