#include "optimizer/ops/evaluation/evaluate.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ops/evaluation/run_operator.h"

namespace plait {
namespace {

// Values of a graph's tensors; null before the first and after the last use. Shared, because a
// graph may name one tensor as several outputs.
using Slots = std::vector<std::shared_ptr<const EvalTensor>>;

std::vector<const Tensor*> InlineConstants(const Graph& graph, NodeId id) {
  std::vector<const Tensor*> constants;
  const Node& node = graph.node(id);
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    constants.push_back(
        node.inputs[i] == kNoTensor ? nullptr : graph.inline_constant(id, static_cast<int>(i)));
  }
  return constants;
}

std::string NodeName(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.name != nullptr && !node.name->empty()) return *node.name;
  return absl::StrCat("node ", id);
}

// A node may declare types that its operator would not infer (a text can say anything): checked
// here, since everything behind relies on them.
absl::StatusOr<std::vector<EvalTensor>> RunNode(const Graph& graph, NodeId id, EvalInputs inputs,
                                                Numbers numbers) {
  const Node& node = graph.node(id);
  if (node.op == OpKind::kOpaque) {
    return absl::UnimplementedError(
        absl::StrCat(NodeName(graph, id), ": opaque nodes have no reference evaluation"));
  }
  const std::vector<const Tensor*> constants = InlineConstants(graph, id);
  absl::StatusOr<std::vector<EvalTensor>> outputs =
      RunOperator({node.op, *node.attributes, constants, static_cast<int>(node.outputs.size())},
                  inputs, numbers);
  if (!outputs.ok()) return Annotate(outputs.status(), NodeName(graph, id));
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] == kNoTensor || graph.type(node.outputs[i]) == (*outputs)[i].type) continue;
    return absl::InvalidArgumentError(absl::StrCat(NodeName(graph, id), ": output ", i, " is ",
                                                   (*outputs)[i].type.ToString(), ", declared is ",
                                                   graph.type(node.outputs[i]).ToString()));
  }
  return outputs;
}

// Per tensor: the last node that reads it, node_count for graph outputs, kNoNode when nothing does.
std::vector<NodeId> LastUses(const Graph& graph) {
  std::vector<NodeId> last(static_cast<size_t>(graph.tensor_count()), kNoNode);
  for (TensorId id = 0; id < graph.tensor_count(); ++id) {
    if (!graph.users(id).empty()) last[id] = graph.users(id).back();
  }
  for (TensorId id : graph.outputs()) last[id] = graph.node_count();
  return last;
}

absl::Status FillConstant(const Graph& graph, TensorId id, const WeightSource& weights,
                          Numbers numbers, Slots* slots) {
  const TensorInfo& info = graph.tensor(id);
  if ((*slots)[id] != nullptr || info.constant == nullptr) return absl::OkStatus();
  absl::StatusOr<EvalTensor> value = RunConstant(*info.constant, weights, numbers);
  if (!value.ok()) return Annotate(value.status(), *info.name);
  (*slots)[id] = std::make_shared<const EvalTensor>(*std::move(value));
  return absl::OkStatus();
}

// Node by node in the graph's order; a value is dropped behind its last reader, so that memory
// holds what is alive and not all of a network.
absl::StatusOr<std::vector<EvalTensor>> RunGraph(const Graph& graph, std::vector<EvalTensor> inputs,
                                                 const WeightSource& weights, Numbers numbers) {
  if (inputs.size() != graph.inputs().size()) {
    return absl::InvalidArgumentError(absl::StrCat("the graph has ", graph.inputs().size(),
                                                   " inputs, given are ", inputs.size()));
  }
  Slots slots(static_cast<size_t>(graph.tensor_count()));
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TensorInfo& info = graph.tensor(graph.inputs()[i]);
    if (inputs[i].type != info.type) {
      return absl::InvalidArgumentError(absl::StrCat("input ", *info.name, " must be ",
                                                     info.type.ToString(), ", is ",
                                                     inputs[i].type.ToString()));
    }
    slots[graph.inputs()[i]] = std::make_shared<const EvalTensor>(std::move(inputs[i]));
  }
  const std::vector<NodeId> last_uses = LastUses(graph);
  for (NodeId id = 0; id < graph.node_count(); ++id) {
    const Node& node = graph.node(id);
    std::vector<const EvalTensor*> values;
    for (TensorId input : node.inputs) {
      if (input != kNoTensor) {
        PLAIT_RETURN_IF_ERROR(FillConstant(graph, input, weights, numbers, &slots));
      }
      values.push_back(input == kNoTensor ? nullptr : slots[input].get());
    }
    PLAIT_ASSIGN_OR_RETURN(std::vector<EvalTensor> outputs, RunNode(graph, id, values, numbers));
    for (size_t i = 0; i < outputs.size(); ++i) {
      const TensorId output = node.outputs[i];
      if (output == kNoTensor || last_uses[output] == kNoNode) continue;
      slots[output] = std::make_shared<const EvalTensor>(std::move(outputs[i]));
    }
    for (TensorId input : node.inputs) {
      if (input != kNoTensor && last_uses[input] == id) slots[input] = nullptr;
    }
  }
  std::vector<EvalTensor> results;
  for (TensorId id : graph.outputs()) {
    PLAIT_RETURN_IF_ERROR(FillConstant(graph, id, weights, numbers, &slots));
    results.push_back(*slots[id]);
  }
  return results;
}

}  // namespace

absl::StatusOr<std::vector<Tensor>> EvaluateNode(const Graph& graph, NodeId node,
                                                 absl::Span<const Tensor* const> inputs) {
  std::vector<EvalTensor> values(inputs.size());
  std::vector<const EvalTensor*> pointers(inputs.size(), nullptr);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == nullptr) continue;
    values[i] = ToEvalTensor(*inputs[i]);
    pointers[i] = &values[i];
  }
  PLAIT_ASSIGN_OR_RETURN(const std::vector<EvalTensor> outputs,
                         RunNode(graph, node, pointers, Numbers::kReal));
  std::vector<Tensor> results;
  for (const EvalTensor& output : outputs) results.push_back(FromEvalTensor(output));
  return results;
}

absl::StatusOr<std::vector<Tensor>> EvaluateGraph(const Graph& graph,
                                                  absl::Span<const Tensor> inputs,
                                                  const WeightSource& weights) {
  std::vector<EvalTensor> values;
  for (const Tensor& input : inputs) values.push_back(ToEvalTensor(input));
  PLAIT_ASSIGN_OR_RETURN(const std::vector<EvalTensor> outputs,
                         RunGraph(graph, std::move(values), weights, Numbers::kReal));
  std::vector<Tensor> results;
  for (const EvalTensor& output : outputs) results.push_back(FromEvalTensor(output));
  return results;
}

absl::StatusOr<std::vector<EvalTensor>> EvaluateGraphInField(const Graph& graph,
                                                             absl::Span<const EvalTensor> inputs,
                                                             const WeightSource& weights) {
  return RunGraph(graph, {inputs.begin(), inputs.end()}, weights, Numbers::kField);
}

absl::StatusOr<std::vector<EvalTensor>> EvaluateGraphUnrounded(const Graph& graph,
                                                               absl::Span<const EvalTensor> inputs,
                                                               const WeightSource& weights) {
  return RunGraph(graph, {inputs.begin(), inputs.end()}, weights, Numbers::kUnrounded);
}

}  // namespace plait
