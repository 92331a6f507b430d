#include "bench/search/planted_kernel.h"

#include <utility>

#include "base/status_macros.h"
#include "optimizer/ir/graph_copier.h"

namespace plait {

absl::StatusOr<std::optional<Graph>> WithKernelsMore(const Graph& graph, NodeId behind, int count) {
  const auto& outputs = graph.node(behind).outputs;
  if (outputs.size() != 1 || graph.type(outputs[0]).dtype != DataType::kFloat32) {
    return std::nullopt;
  }
  GraphBuilder builder;
  GraphCopier copier(graph, &builder);
  copier.ForgetName(outputs[0]);
  for (NodeId node = 0; node < graph.node_count(); ++node) {
    copier.CopyNode(node);
    for (int i = 0; node == behind && i < count; ++i) {
      Node times_one = copier.Detached(node);
      times_one.op = OpKind::kMul;
      times_one.name = nullptr;
      times_one.inputs = {copier.TensorOf(outputs[0]),
                          builder.AddConstant(Constant::OfTensor(Tensor::ScalarFloat(1)))};
      times_one.attributes = std::make_shared<const Attributes>();
      copier.CopyNodeAs(node, std::move(times_one));
    }
  }
  copier.CopyOutputs();
  PLAIT_ASSIGN_OR_RETURN(Graph slower, std::move(builder).Finish());
  return slower;
}

}  // namespace plait
