#include "optimizer/cost/kernel_work.h"

#include <algorithm>

#include "optimizer/ops/shared/op_spec.h"

namespace plait {

KernelWork WorkOfKernel(const Graph& graph) {
  KernelWork work;
  int64_t bytes_of_nodes = 0;
  for (NodeId node = 0; node < graph.node_count(); ++node) {
    const Work of_node = WorkOf(graph, node);
    work.flops += of_node.flops;
    bytes_of_nodes += of_node.bytes;
  }
  int64_t weights = 0;
  for (const TensorInfo& tensor : graph.tensors()) {
    if (tensor.constant != nullptr) weights += tensor.type.bytes();
  }
  int64_t all = weights;
  for (const TensorId input : graph.inputs()) all += graph.type(input).bytes();
  for (const TensorId output : graph.outputs()) all += graph.type(output).bytes();
  if (graph.node_count() > 0) all = std::min(all, bytes_of_nodes);
  work.weight_bytes = std::min(weights, all);
  work.value_bytes = all - work.weight_bytes;
  return work;
}

}  // namespace plait
