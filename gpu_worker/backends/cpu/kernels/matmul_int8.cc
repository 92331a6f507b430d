#include "gpu_worker/backends/cpu/kernels/digit_product.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"

namespace plait {

// MatMul and Gemm by a constant matrix, in digits on AMX. All of the left side's leading axes are
// rows.
absl::StatusOr<std::unique_ptr<CpuKernel>> LoadMatmulInt8(LoadContext* context) {
  const Graph& graph = context->graph();
  const std::vector<NodeId>& nodes = context->kernel().nodes;
  if (nodes.empty() || !kMatmulInt8Offer.runs(graph, nodes[0])) return context->Refuse();
  const Node& node = graph.node(nodes[0]);
  const TensorType& left = graph.type(node.inputs[0]);
  const int64_t depth = left.shape.back();
  const int64_t columns = graph.type(node.outputs[0]).shape.back();
  const bool is_transposed = node.op == OpKind::kGemm && node.attributes->Int("transB", 0) != 0;
  return DigitProduct::Load(context,
                            {.rows = left.elements() / depth,
                             .depth = depth,
                             .columns = columns,
                             .outer_floats = depth,
                             .right_row_floats = is_transposed ? 1 : columns,
                             .right_column_floats = is_transposed ? depth : 1},
                            Format::kPlain);
}

}  // namespace plait
