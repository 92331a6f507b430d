#include "tests/optimizer/search/examples.h"

namespace plait {

Rewrite ReplaceOp(const Graph& graph, NodeId node, const std::vector<OpKind>& ops) {
  Rewrite rewrite;
  rewrite.removed = {node};
  TensorId input = graph.node(node).inputs[0];
  for (const OpKind op : ops) {
    Rewrite::NewNode added;
    added.op = op;
    added.inputs = {input};
    added.output_types = {graph.output_type(node)};
    input = graph.tensor_count() + static_cast<TensorId>(rewrite.added.size());
    rewrite.added.push_back(added);
  }
  rewrite.rewired = {{graph.node(node).outputs[0], input}};
  return rewrite;
}

const Rule kTanhToPair = {
    .name = "tanh_to_pair",
    .law = "Tanh(x) = Floor(Ceil(x))",
    .root = OpKind::kTanh,
    .match = [](const Rule&, const Graph& graph, NodeId node) -> Rewrites {
      return {ReplaceOp(graph, node, {OpKind::kCeil, OpKind::kFloor})};
    },
};

const Rule kPairToNeg = {
    .name = "pair_to_neg",
    .law = "Floor(Ceil(x)) = Neg(x)",
    .root = OpKind::kFloor,
    .match = [](const Rule&, const Graph& graph, NodeId node) -> Rewrites {
      const NodeId ceil = graph.producer(node, 0);
      if (ceil == kNoNode || graph.node(ceil).op != OpKind::kCeil) return {};
      Rewrite rewrite = ReplaceOp(graph, node, {OpKind::kNeg});
      rewrite.added[0].inputs = {graph.node(ceil).inputs[0]};
      rewrite.removed = {ceil, node};
      return {rewrite};
    },
};

Graph TanhGraph() {
  return GraphOf("graph {\n input %x: float32[2,8]\n %y = Tanh(%x) {}\n output %y\n}");
}

Graph Blocks() {
  return GraphOf(R"(graph {
    input %x: float32[2,8]
    %a = Relu(%x) {}
    %b = Exp(%a) {}
    %c = Tanh(%b) {}
    %d = Add(%a, %c) {}
    %e = Relu(%d) {}
    %f = Exp(%e) {}
    %g = Tanh(%f) {}
    %h = Add(%e, %g) {}
    output %h
  })");
}

Graph RandomAdditions(Random& random, int nodes) {
  std::string text = "graph {\n  input %t0: float32[2,8]\n";
  for (int node = 1; node <= nodes; ++node) {
    const auto any = [&] { return "%t" + std::to_string(random.Integer(0, node - 1)); };
    text += "  %t" + std::to_string(node) + " = Add(" + any() + ", " + any() + ") {}\n";
  }
  text += "  output %t" + std::to_string(nodes) + ", %t" + std::to_string(nodes - 1) + "\n}";
  return GraphOf(text);
}

}  // namespace plait
