#include <algorithm>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/run/strided_copy.h"
#include "optimizer/ops/shared/axes.h"

namespace plait {
namespace {

// Where a Slice starts and how it walks, per axis of its input.
struct Walk {
  Shape starts;
  Shape steps;
};

Walk WalkOf(const Graph& graph, NodeId id) {
  const Shape& shape = graph.input_type(id, 0).shape;
  Walk walk{Shape(shape.size(), 0), Shape(shape.size(), 1)};
  const std::vector<int64_t> starts = graph.inline_constant(id, 1)->AsInt64s();
  const Tensor* const axes = graph.inline_constant(id, 3);
  const Tensor* const steps = graph.inline_constant(id, 4);
  for (size_t i = 0; i < starts.size(); ++i) {
    const int64_t axis =
        axes == nullptr ? static_cast<int64_t>(i) : NormalAxis(axes->AsInt64s()[i], shape.size());
    const int64_t step = steps == nullptr ? 1 : steps->AsInt64s()[i];
    const int64_t start = starts[i] < 0 ? starts[i] + shape[axis] : starts[i];
    walk.starts[axis] = std::clamp<int64_t>(start, 0, step > 0 ? shape[axis] : shape[axis] - 1);
    walk.steps[axis] = step;
  }
  return walk;
}

// A step is a factor of the distance, and a start an offset: x[8:2:-2] of a row of floats is read
// from element 8 at distance -2.
StridedCopy CopySlice(const Operand& source, const Operand& target, const Walk& walk) {
  const int64_t element_bytes = BytesOf(source.type.dtype);
  Shape strides = source.strides();
  int64_t offset = 0;
  for (size_t i = 0; i < strides.size(); ++i) {
    offset += walk.starts[i] * strides[i];
    strides[i] *= walk.steps[i];
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
    kernel->Add(CopySlice(source, target, WalkOf(graph, nodes[0])));
    return kernel;
  }
  const int64_t axis = NormalAxis(node.attributes->Int("axis", 0), source.type.rank());
  const size_t rank = source.type.shape.size();
  Walk walk{Shape(rank, 0), Shape(rank, 1)};
  for (const TensorId output : node.outputs) {
    const TensorType& type = graph.type(output);
    // A part that nobody reads has no place in the plan.
    const bool is_read = !graph.users(output).empty() || graph.is_output(output);
    if (is_read && type.elements() > 0) {
      PLAIT_ASSIGN_OR_RETURN(const Operand target, context->Find(output));
      kernel->Add(CopySlice(source, target, walk));
    }
    walk.starts[axis] += type.shape[axis];
  }
  return kernel;
}

}  // namespace plait
