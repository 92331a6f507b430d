#include "bench/search/planted_kernel.h"

#include <utility>

#include "optimizer/ir/graph_copier.h"

namespace plait {

absl::StatusOr<Graph> WithNodeTwice(const Graph& graph, NodeId twice) {
  GraphBuilder builder;
  GraphCopier copier(graph, &builder);
  for (NodeId node = 0; node < graph.node_count(); ++node) {
    if (node == twice) {
      for (const TensorId output : graph.node(node).outputs) {
        if (output != kNoTensor) copier.ForgetName(output);
      }
      copier.CopyNode(node);
    }
    copier.CopyNode(node);
  }
  copier.CopyOutputs();
  return std::move(builder).Finish();
}

}  // namespace plait
