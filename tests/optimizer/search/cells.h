#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include "tests/optimizer/search/examples.h"

namespace plait {

// Cells of equal structure, one behind the other.
inline Graph Cells(int count) {
  std::string text = "graph {\n  input %x0: float32[2,8]\n";
  for (int cell = 0; cell < count; ++cell) {
    const std::string in = "%x" + std::to_string(cell);
    const std::string id = std::to_string(cell + 1);
    text += "  %a" + id + " = Tanh(" + in + ") {}\n";
    text += "  %b" + id + " = Exp(" + in + ") {}\n";
    text += "  %c" + id + " = Add(%a" + id + ", %b" + id + ") {}\n";
    text += "  %x" + id + " = Softmax(%c" + id + ") {axis=1}\n";
  }
  return GraphOf(text + "  output %x" + std::to_string(count) + "\n}\n");
}

inline int CountOf(const Graph& graph, OpKind op) {
  return static_cast<int>(std::count_if(graph.nodes().begin(), graph.nodes().end(),
                                        [&](const Node& node) { return node.op == op; }));
}

// A cell and what `last` says, with a node between them that plait does not understand.
inline Graph CellsAroundAnOpaqueNode(OpKind last = OpKind::kTanh) {
  GraphBuilder builder;
  const TensorType type{DataType::kFloat32, {2, 8}};
  const auto unary = [&](OpKind op, TensorId input, const std::string& name) {
    Node node;
    node.op = op;
    node.inputs = {input};
    return builder.AddNode(node, {type}, {name})[0];
  };
  TensorId tensor = builder.AddInput(type, "x");
  tensor = unary(OpKind::kTanh, tensor, "a");
  tensor = unary(OpKind::kOpaque, tensor, "b");
  tensor = unary(last, tensor, "c");
  builder.AddOutput(tensor);
  return *std::move(builder).Finish();
}

}  // namespace plait
