#include "optimizer/onnx/messages/order_nodes.h"

#include <functional>
#include <queue>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/onnx/messages/captured_names.h"
#include "optimizer/onnx/messages/node_label.h"

namespace plait {

// Kahn's algorithm with the lowest index first: of the nodes 0: b = Relu(a), 1: a = Exp(x) and
// 2: c = Neg(x), 1 and 2 are ready; 1 comes first and frees 0, which goes before 2. The order is
// 1 0 2. A list that is in order has its next node ready whenever it is asked, and stays.
namespace {

// For values that no node produces.
constexpr int kNoProducer = -1;

using Producers = absl::flat_hash_map<std::string, int>;

// As an int, which indices of nodes are.
int NodeCount(const onnx::GraphProto& graph) { return static_cast<int>(graph.node.size()); }

absl::Status Define(const std::string& name, int producer, Producers* producers) {
  if (producers->emplace(name, producer).second) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("two values of the graph are named '", name, "' (names must be unique)"));
}

absl::StatusOr<Producers> FindProducers(const onnx::GraphProto& graph) {
  Producers producers;
  for (const auto& initializer : graph.initializer) {
    PLAIT_RETURN_IF_ERROR(Define(initializer.name(), kNoProducer, &producers));
  }
  for (const auto& sparse : graph.sparse_initializer) {
    PLAIT_RETURN_IF_ERROR(Define(sparse.values().name(), kNoProducer, &producers));
  }
  const Producers initializers = producers;
  Producers inputs;
  for (const auto& input : graph.input) {
    PLAIT_RETURN_IF_ERROR(Define(input.name(), kNoProducer, &inputs));
    // An initializer that is listed as an input as well is that input's default value.
    if (initializers.contains(input.name())) continue;
    PLAIT_RETURN_IF_ERROR(Define(input.name(), kNoProducer, &producers));
  }
  for (int index = 0; index < NodeCount(graph); ++index) {
    for (const std::string& output : graph.node[index].output) {
      if (output.empty()) continue;
      PLAIT_RETURN_IF_ERROR(Define(output, index, &producers));
    }
  }
  if (producers.contains("")) {
    return absl::InvalidArgumentError("an input or initializer of the graph has no name");
  }
  return producers;
}

// What a node's subgraphs read counts as read by the node: they run inside of it.
std::vector<std::string> NamesReadBy(const onnx::NodeProto& node) {
  std::vector<std::string> names = CapturedNames(node);
  for (const std::string& input : node.input) {
    if (!input.empty()) names.push_back(input);
  }
  return names;
}

// Per node, how many of its reads are unproduced; per node, who waits for it.
struct Dependencies {
  std::vector<int> waiting_for;
  std::vector<std::vector<int>> readers;
};

absl::StatusOr<Dependencies> FindDependencies(const onnx::GraphProto& graph,
                                              const Producers& producers) {
  Dependencies dependencies;
  dependencies.waiting_for.resize(graph.node.size());
  dependencies.readers.resize(graph.node.size());
  for (int index = 0; index < NodeCount(graph); ++index) {
    for (const std::string& name : NamesReadBy(graph.node[index])) {
      const auto producer = producers.find(name);
      if (producer == producers.end()) {
        return absl::InvalidArgumentError(absl::StrCat(NodeLabel(graph.node[index]), ": reads '",
                                                       name, "', which nothing produces"));
      }
      if (producer->second == kNoProducer) continue;
      ++dependencies.waiting_for[index];
      dependencies.readers[producer->second].push_back(index);
    }
  }
  return dependencies;
}

absl::Status CheckOutputs(const onnx::GraphProto& graph, const Producers& producers) {
  if (graph.output.empty()) return absl::InvalidArgumentError("the graph has no outputs");
  for (const auto& output : graph.output) {
    if (producers.contains(output.name())) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("the graph output '", output.name(), "' is produced by nothing"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<int>> OrderNodes(const onnx::GraphProto& graph) {
  PLAIT_ASSIGN_OR_RETURN(const Producers producers, FindProducers(graph));
  PLAIT_RETURN_IF_ERROR(CheckOutputs(graph, producers));
  PLAIT_ASSIGN_OR_RETURN(Dependencies dependencies, FindDependencies(graph, producers));
  std::priority_queue<int, std::vector<int>, std::greater<int>> ready;
  for (int index = 0; index < NodeCount(graph); ++index) {
    if (dependencies.waiting_for[index] == 0) ready.push(index);
  }
  std::vector<int> order;
  while (!ready.empty()) {
    const int index = ready.top();
    ready.pop();
    order.push_back(index);
    for (const int reader : dependencies.readers[index]) {
      if (--dependencies.waiting_for[reader] == 0) ready.push(reader);
    }
  }
  for (int index = 0; index < NodeCount(graph); ++index) {
    if (dependencies.waiting_for[index] == 0) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        NodeLabel(graph.node[index]), ": reads its own result through a cycle of nodes"));
  }
  return order;
}

}  // namespace plait
