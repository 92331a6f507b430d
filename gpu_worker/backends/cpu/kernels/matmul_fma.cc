#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/fma_kernel.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"

namespace plait {

// MatMul and Gemm by a constant matrix, in fp32 (see fma_product.h).
absl::StatusOr<std::unique_ptr<CpuKernel>> LoadMatmulFma(LoadContext* context) {
  const Graph& graph = context->graph();
  const std::vector<NodeId>& nodes = context->kernel().nodes;
  if (nodes.empty() || !kMatmulFmaOffer.runs(graph, nodes[0])) return context->Refuse();
  const ConstantProduct shape = *ConstantProductAt(graph, nodes[0]);
  PLAIT_ASSIGN_OR_RETURN(RowLayer layer, ReadRowLayer(context, Format::kPlain, shape.columns));
  const TensorId right = graph.node(nodes[0]).inputs[1];
  PLAIT_ASSIGN_OR_RETURN(FmaProduct product,
                         FmaProduct::LoadMatrix(context, shape, right, layer.epilogue.bias()));
  return FmaKernel::Create(context, shape, {layer.source.floats(), shape.depth},
                           {layer.result.floats(), shape.columns}, std::move(product),
                           std::move(layer.epilogue));
}

}  // namespace plait
