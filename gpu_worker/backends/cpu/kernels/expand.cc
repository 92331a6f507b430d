#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/run/strided_copy.h"

namespace plait {
namespace {

// A repeated axis is read at distance 0.
StridedCopy CopyExpanded(const Operand& source, const Operand& target) {
  const Shape source_strides = source.strides();
  Shape strides(target.type.shape.size(), 0);
  const size_t lead = strides.size() - source_strides.size();
  for (size_t i = 0; i < source_strides.size(); ++i) {
    strides[lead + i] = source.type.shape[i] == 1 ? 0 : source_strides[i];
  }
  return StridedCopy(BytesOf(source.type.dtype), target.type.shape, {source.data, strides},
                     {target.data, target.strides()});
}

// Each axis becomes two: the repeats, read at distance 0, and the elements.
StridedCopy CopyTiled(const Operand& source, const Operand& target) {
  const Shape source_strides = source.strides();
  const Shape target_strides = target.strides();
  Shape shape;
  Shape from;
  Shape to;
  for (size_t i = 0; i < source_strides.size(); ++i) {
    const int64_t size = source.type.shape[i];
    shape.insert(shape.end(), {target.type.shape[i] / size, size});
    from.insert(from.end(), {0, source_strides[i]});
    to.insert(to.end(), {target_strides[i] * size, target_strides[i]});
  }
  return StridedCopy(BytesOf(source.type.dtype), shape, {source.data, from}, {target.data, to});
}

}  // namespace

// Expand and Tile.
absl::StatusOr<std::unique_ptr<CpuKernel>> LoadExpand(LoadContext* context) {
  const Graph& graph = context->graph();
  const std::vector<NodeId>& nodes = context->kernel().nodes;
  if (nodes.size() != 1 || !kExpandOffer.runs(graph, nodes[0])) return context->Refuse();
  const Node& node = graph.node(nodes[0]);
  PLAIT_ASSIGN_OR_RETURN(const Operand source, context->Find(node.inputs[0]));
  PLAIT_ASSIGN_OR_RETURN(const Operand target, context->Find(node.outputs[0]));
  auto kernel = std::make_unique<CopyKernel>(context->width());
  kernel->Add(node.op == OpKind::kExpand ? CopyExpanded(source, target)
                                         : CopyTiled(source, target));
  return kernel;
}

}  // namespace plait
