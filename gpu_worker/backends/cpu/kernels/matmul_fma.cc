#include "gpu_worker/backends/cpu/kernels/fma_kernel.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"

namespace plait {

// MatMul and Gemm by a constant matrix, in fp32.
absl::StatusOr<std::unique_ptr<CpuKernel>> LoadMatmulFma(LoadContext* context) {
  const Graph& graph = context->graph();
  const std::vector<NodeId>& nodes = context->kernel().nodes;
  if (nodes.empty() || !kMatmulFmaOffer.runs(graph, nodes[0])) return context->Refuse();
  return LoadFmaKernel(context, *ConstantProductAt(graph, nodes[0]), Format::kPlain);
}

}  // namespace plait
