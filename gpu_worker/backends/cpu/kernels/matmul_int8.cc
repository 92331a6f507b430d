#include "gpu_worker/backends/cpu/kernels/digit_product.h"
#include "gpu_worker/backends/cpu/offers/constant_product.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"

namespace plait {

// MatMul and Gemm by a constant matrix, in digits on AMX.
absl::StatusOr<std::unique_ptr<CpuKernel>> LoadMatmulInt8(LoadContext* context) {
  const Graph& graph = context->graph();
  const std::vector<NodeId>& nodes = context->kernel().nodes;
  if (nodes.empty() || !kMatmulInt8Offer.runs(graph, nodes[0])) return context->Refuse();
  const ConstantProduct product = *ConstantProductAt(graph, nodes[0]);
  return DigitProduct::Load(context,
                            {.rows = product.rows,
                             .depth = product.depth,
                             .columns = product.columns,
                             .outer_floats = product.depth,
                             .right_row_floats = product.right_row_floats,
                             .right_column_floats = product.right_column_floats},
                            Format::kPlain);
}

}  // namespace plait
