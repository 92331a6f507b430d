#include "optimizer/onnx/messages/captured_names.h"

#include <algorithm>
#include <functional>

#include "absl/container/flat_hash_set.h"

namespace plait {

namespace {

using Names = absl::flat_hash_set<std::string>;

void ForEachSubgraph(const onnx::NodeProto& node,
                     const std::function<void(const onnx::GraphProto&)>& visit) {
  for (const onnx::AttributeProto& attribute : node.attribute) {
    if (attribute.g.has()) visit(attribute.g());
    for (const onnx::GraphProto& graph : attribute.graphs) visit(graph);
  }
}

// Of this graph alone, not of graphs inside its nodes.
std::vector<std::string> DefinedNames(const onnx::GraphProto& graph) {
  std::vector<std::string> names;
  for (const auto& input : graph.input) names.push_back(input.name());
  for (const auto& initializer : graph.initializer) names.push_back(initializer.name());
  for (const auto& sparse : graph.sparse_initializer) names.push_back(sparse.values().name());
  for (const auto& node : graph.node) {
    names.insert(names.end(), node.output.begin(), node.output.end());
  }
  return names;
}

// Collects what is read in nested scopes but defined in none of them. A scope's names are known
// before its nodes are visited, because nodes may stand in any order.
class CaptureCollector {
 public:
  void VisitNode(const onnx::NodeProto& node) {
    ForEachSubgraph(node, [this](const onnx::GraphProto& graph) { VisitGraph(graph); });
  }

  std::vector<std::string> Take() { return std::move(captured_); }

 private:
  void VisitGraph(const onnx::GraphProto& graph) {
    const std::vector<std::string> defined = DefinedNames(graph);
    scopes_.emplace_back(defined.begin(), defined.end());
    for (const onnx::NodeProto& node : graph.node) {
      for (const std::string& input : node.input) Read(input);
      VisitNode(node);
    }
    for (const auto& output : graph.output) Read(output.name());
    scopes_.pop_back();
  }

  void Read(const std::string& name) {
    if (name.empty()) return;
    const bool local = std::any_of(scopes_.begin(), scopes_.end(),
                                   [&name](const Names& scope) { return scope.contains(name); });
    if (!local && seen_.insert(name).second) captured_.push_back(name);
  }

  std::vector<Names> scopes_;
  Names seen_;
  std::vector<std::string> captured_;
};

void CollectInnerNames(const onnx::NodeProto& node, std::vector<std::string>* names) {
  ForEachSubgraph(node, [names](const onnx::GraphProto& graph) {
    const std::vector<std::string> defined = DefinedNames(graph);
    names->insert(names->end(), defined.begin(), defined.end());
    for (const onnx::NodeProto& inner : graph.node) CollectInnerNames(inner, names);
  });
}

}  // namespace

std::vector<std::string> CapturedNames(const onnx::NodeProto& node) {
  CaptureCollector collector;
  collector.VisitNode(node);
  return collector.Take();
}

std::vector<std::string> InnerNames(const onnx::NodeProto& node) {
  std::vector<std::string> names;
  CollectInnerNames(node, &names);
  return names;
}

}  // namespace plait
