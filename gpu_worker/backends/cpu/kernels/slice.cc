#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/run/strided_copy.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/ops/shared/slice_ranges.h"

namespace plait {
namespace {

// A step is a factor of the distance, and a start an offset: x[8:2:-2] of a row of floats is read
// from element 8 at distance -2.
StridedCopy CopySlice(const Operand& source, const Operand& target,
                      absl::Span<const SliceRange> ranges) {
  const int64_t element_bytes = BytesOf(source.type.dtype);
  Shape strides = source.strides();
  int64_t offset = 0;
  for (size_t i = 0; i < strides.size(); ++i) {
    offset += ranges[i].start * strides[i];
    strides[i] *= ranges[i].step;
  }
  return StridedCopy(element_bytes, target.type.shape,
                     {source.data + offset * element_bytes, strides},
                     {target.data, target.strides()});
}

}  // namespace

// Slice and Split: one strided copy per output.
absl::StatusOr<std::unique_ptr<CpuKernel>> LoadSlice(LoadContext* context) {
  const Graph& graph = context->graph();
  const std::vector<NodeId>& nodes = context->kernel().nodes;
  if (nodes.size() != 1 || !kSliceOffer.runs(graph, nodes[0])) return context->Refuse();
  const Node& node = graph.node(nodes[0]);
  PLAIT_ASSIGN_OR_RETURN(const Operand source, context->Find(node.inputs[0]));
  auto kernel = std::make_unique<CopyKernel>(context->width());
  if (node.op == OpKind::kSlice) {
    PLAIT_ASSIGN_OR_RETURN(const Operand target, context->Find(node.outputs[0]));
    PLAIT_ASSIGN_OR_RETURN(const std::vector<SliceRange> ranges, ReadSlice(graph, nodes[0]));
    kernel->Add(CopySlice(source, target, ranges));
    return kernel;
  }
  const int64_t axis = NormalAxis(node.attributes->Int("axis", 0), source.type.rank());
  std::vector<SliceRange> ranges(source.type.shape.size());
  for (const TensorId output : node.outputs) {
    const TensorType& type = graph.type(output);
    // A part that nobody reads has no place in the plan.
    const bool is_read = !graph.users(output).empty() || graph.is_output(output);
    if (is_read && type.elements() > 0) {
      PLAIT_ASSIGN_OR_RETURN(const Operand target, context->Find(output));
      kernel->Add(CopySlice(source, target, ranges));
    }
    ranges[axis].start += type.shape[axis];
  }
  return kernel;
}

}  // namespace plait
