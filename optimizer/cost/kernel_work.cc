#include "optimizer/cost/kernel_work.h"

#include <algorithm>

#include "optimizer/kernels/format_rules.h"
#include "optimizer/ops/shared/op_spec.h"

namespace plait {

namespace {

int64_t BytesOfAll(const Graph& graph, absl::Span<const TensorId> tensors,
                   const std::vector<Format>& formats) {
  int64_t bytes = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    bytes += BytesOf(graph.type(tensors[i]), i < formats.size() ? formats[i] : Format::kPlain);
  }
  return bytes;
}

}  // namespace

KernelWork WorkOfKernel(const LoneKernel& lone) {
  const Graph& graph = lone.graph;
  const std::vector<Format>& written = lone.kernel.output_formats;
  KernelWork work;
  int64_t bytes_of_nodes = 0;
  for (NodeId node = 0; node < graph.node_count(); ++node) {
    const Work of_node = WorkOf(graph, node);
    work.flops += of_node.flops;
    bytes_of_nodes += of_node.bytes;
  }
  int64_t weights = 0;
  for (const TensorInfo& tensor : graph.tensors()) {
    if (tensor.constant == nullptr) continue;
    weights += BytesOf(tensor.type, written.empty() ? Format::kPlain : written.front());
  }
  int64_t all = weights + BytesOfAll(graph, graph.inputs(), lone.kernel.input_formats) +
                BytesOfAll(graph, graph.outputs(), written);
  if (graph.node_count() > 0) all = std::min(all, bytes_of_nodes);
  work.weight_bytes = std::min(weights, all);
  work.value_bytes = all - work.weight_bytes;
  return work;
}

}  // namespace plait
