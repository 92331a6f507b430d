#include "optimizer/rules/patterns/reasons.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "optimizer/rules/patterns/graph_queries.h"

namespace plait {

std::string NodeText(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.name != nullptr && !node.name->empty()) {
    return absl::StrCat(OpKindName(node.op), " ", *node.name);
  }
  for (const TensorId output : node.outputs) {
    if (output == kNoTensor) continue;
    return absl::StrCat(OpKindName(node.op), " %", *graph.tensor(output).name);
  }
  return std::string(OpKindName(node.op));
}

std::string ReadersText(const Graph& graph, TensorId tensor) {
  const TensorInfo& info = graph.tensor(tensor);
  const std::string what =
      info.producer == kNoNode ? absl::StrCat("%", *info.name) : NodeText(graph, info.producer);
  if (graph.is_output(tensor)) return absl::StrCat(what, " is an output of the model");
  const size_t readers = graph.users(tensor).size();
  if (readers == 1) return absl::StrCat(what, " is read twice by its reader");
  return absl::StrCat(what, " has ", readers, " readers");
}

std::string SizesText(absl::Span<const int64_t> sizes) { return absl::StrJoin(sizes, "x"); }

std::string DiffersText(const Graph& graph, NodeId a, NodeId b, absl::string_view what,
                        absl::string_view of_a, absl::string_view of_b) {
  return absl::StrCat(NodeText(graph, b), " has ", what, " ", of_b, ", ", NodeText(graph, a), " ",
                      of_a);
}

NoMatch NoConstantBeside(const Graph& graph, NodeId node, OpKind op, Misses misses) {
  for (const int index : {0, 1}) {
    const NodeId producer = ProducerOf(graph, node, index, op);
    if (producer == kNoNode) continue;
    return misses.Because([&] {
      return absl::StrCat("what ", NodeText(graph, node), " combines with ",
                          NodeText(graph, producer), " is not constant");
    });
  }
  return {};
}

NoMatch NotPerChannel(const Graph& graph, TensorId constant, int64_t channels, Misses misses) {
  return misses.Because([&] {
    return absl::StrCat("the constant is ", graph.type(constant).ToString(),
                        ", not one of each of ", channels, " channels");
  });
}

}  // namespace plait
