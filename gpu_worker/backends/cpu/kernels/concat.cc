#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/run/strided_copy.h"
#include "optimizer/ops/shared/axes.h"

namespace plait {

// Each input is one strided copy into its place: in channels-last, channels are runs within pixels.
// Parts that the plan has placed there are not copied.
absl::StatusOr<std::unique_ptr<CpuKernel>> LoadConcat(LoadContext* context) {
  const Graph& graph = context->graph();
  const std::vector<NodeId>& nodes = context->kernel().nodes;
  if (nodes.size() != 1 || !kConcatOffer.runs(graph, nodes[0])) return context->Refuse();
  const Node& node = graph.node(nodes[0]);
  PLAIT_ASSIGN_OR_RETURN(const Operand result, context->Find(node.outputs[0]));
  const int64_t axis = NormalAxis(node.attributes->Int("axis", 0), result.type.rank());
  const Shape strides = result.strides();
  const int64_t element_bytes = BytesOf(result.type.dtype);
  auto kernel = std::make_unique<CopyKernel>(context->width());
  int64_t offset = 0;
  for (const TensorId input : node.inputs) {
    PLAIT_ASSIGN_OR_RETURN(const Operand part, context->Find(input));
    if (part.type.elements() == 0) continue;
    std::byte* const target = result.data + offset * strides[axis] * element_bytes;
    offset += part.type.shape[axis];
    if (part.data == target) continue;
    kernel->Add(StridedCopy(element_bytes, part.type.shape, {part.data, part.strides()},
                            {target, strides}));
  }
  return kernel;
}

}  // namespace plait
