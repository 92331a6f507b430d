#include "tests/optimizer/rules/generator/mutate.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "optimizer/ir/graph_copier.h"
#include "optimizer/ops/shared/op_spec.h"

namespace plait {
namespace {

using Ints = std::vector<int64_t>;

enum class Change { kOperands, kAxis, kStride, kPads, kOperator, kOperand, kDropped };
constexpr int kChanges = 7;
constexpr const char* kNames[kChanges] = {
    "exchanged operands", "another axis",    "another stride", "other pads",
    "another operator",   "another operand", "dropped"};

bool SetInts(Node* node, absl::string_view name, Ints value) {
  if (!node->attributes->Has(name)) return false;
  Attributes attributes = *node->attributes;
  attributes.Set(name, std::move(value));
  node->attributes = MakeAttributes(std::move(attributes));
  return true;
}

bool ChangeAxis(Node* node) {
  if (!node->attributes->Has("axis")) return false;
  Attributes attributes = *node->attributes;
  attributes.Set("axis", 1 - attributes.Int("axis", 0));
  node->attributes = MakeAttributes(std::move(attributes));
  return true;
}

// False when the change is none. `any` is some tensor that stands in front of the node.
bool ChangeNode(Change change, TensorId any, Node* node) {
  switch (change) {
    case Change::kOperands:
      if (node->inputs.size() < 2 || node->inputs[0] == node->inputs[1]) return false;
      std::swap(node->inputs[0], node->inputs[1]);
      return true;
    case Change::kAxis:
      return ChangeAxis(node);
    case Change::kStride: {
      const int64_t stride = node->attributes->Ints("strides", {1, 1})[0] == 1 ? 2 : 1;
      return SetInts(node, "strides", {stride, stride});
    }
    case Change::kPads: {
      const int64_t pad = node->attributes->Ints("pads", {0, 0, 0, 0})[0] == 0 ? 1 : 0;
      return SetInts(node, "pads", {pad, pad, 1, 1});
    }
    case Change::kOperator:
      if (node->op != OpKind::kAdd && node->op != OpKind::kMul) return false;
      node->op = node->op == OpKind::kAdd ? OpKind::kMul : OpKind::kAdd;
      return true;
    case Change::kOperand:
      if (node->inputs[0] == any) return false;
      node->inputs[0] = any;
      return true;
    case Change::kDropped:
      break;  // the caller's
  }
  return false;
}

std::vector<TensorType> OutputTypes(const Graph& graph) {
  std::vector<TensorType> types;
  for (const TensorId output : graph.outputs()) types.push_back(graph.type(output));
  return types;
}

std::optional<Graph> Changed(const Graph& graph, NodeId changed, Change change, TensorId any) {
  GraphBuilder builder;
  GraphCopier copier(graph, &builder);
  for (NodeId id = 0; id < graph.node_count(); ++id) {
    const Node& original = graph.node(id);
    Node node = copier.Detached(id);
    if (id == changed && change == Change::kDropped) {
      if (original.outputs.size() != 1) return std::nullopt;
      copier.Set(original.outputs[0], node.inputs[0]);
      continue;
    }
    if (id == changed && !ChangeNode(change, copier.TensorOf(any), &node)) return std::nullopt;
    const auto types = InferTypes(builder, node, static_cast<int>(original.outputs.size()));
    if (!types.ok()) return std::nullopt;
    const std::vector<TensorId> outputs = builder.AddNode(std::move(node), *types);
    for (size_t i = 0; i < outputs.size(); ++i) copier.Set(original.outputs[i], outputs[i]);
  }
  for (const TensorId output : graph.outputs()) builder.AddOutput(copier.TensorOf(output));
  auto result = std::move(builder).Finish();
  if (!result.ok() || OutputTypes(*result) != OutputTypes(graph)) return std::nullopt;
  return *std::move(result);
}

}  // namespace

std::optional<Mutant> Mutate(const Law& law, Random* random) {
  if (law.target.node_count() == 0) return std::nullopt;
  const auto node = static_cast<NodeId>(random->Integer(0, law.target.node_count() - 1));
  const auto change = static_cast<int>(random->Integer(0, kChanges - 1));
  const auto inputs = law.target.inputs();
  const TensorId any = inputs[random->Integer(0, static_cast<int64_t>(inputs.size()) - 1)];
  auto target = Changed(law.target, node, static_cast<Change>(change), any);
  if (!target) return std::nullopt;
  Mutant mutant{absl::StrCat(kNames[change], ": node ", node, " of ", law.name), law};
  mutant.law.target = *std::move(target);
  return mutant;
}

}  // namespace plait
