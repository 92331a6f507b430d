#include "optimizer/rules/generator/field_evaluation.h"

#include <utility>

#include "base/status_macros.h"
#include "optimizer/ir/graph_copier.h"
#include "optimizer/ops/evaluation/evaluate.h"
#include "optimizer/ops/evaluation/run_operator.h"
#include "optimizer/ops/shared/expansion.h"
#include "optimizer/ops/shared/op_spec.h"

namespace plait {
namespace {

// (x - mean) / Sqrt(variance + epsilon) * scale + bias, per channel.
absl::StatusOr<std::vector<TensorId>> SpellBatchNormalization(const Node& node,
                                                              GraphBuilder* builder) {
  Expansion expansion(builder);
  const TensorType x = expansion.type(node.inputs[0]);
  std::vector<int64_t> shape(x.rank() - 1, 1);
  shape[0] = x.shape[1];
  const TensorId per_channel = expansion.Constant(Tensor::Int64s(shape));
  const auto parameter = [&](int index) {
    return expansion.Add(OpKind::kReshape, {node.inputs[index], per_channel});
  };
  const TensorId epsilon = expansion.Scalar(x.dtype, node.attributes->Float("epsilon", 1e-5f));
  const TensorId deviation =
      expansion.Add(OpKind::kSqrt, {expansion.Add(OpKind::kAdd, {parameter(4), epsilon})});
  const TensorId centered = expansion.Add(OpKind::kSub, {node.inputs[0], parameter(3)});
  const TensorId normal = expansion.Add(OpKind::kDiv, {centered, deviation});
  const TensorId scaled = expansion.Add(OpKind::kMul, {normal, parameter(1)});
  return expansion.Outputs({expansion.Add(OpKind::kAdd, {scaled, parameter(2)})});
}

// The exponent when it is one small positive integer that does not change the base's shape, else 0.
int FactorsOf(const Graph& graph, NodeId pow) {
  const Tensor* exponent = graph.inline_constant(pow, 1);
  if (exponent == nullptr || exponent->elements() != 1) return 0;
  const double value = exponent->AsDoubles()[0];
  const bool is_small = value == 1 || value == 2 || value == 3;
  return is_small && graph.input_type(pow, 0) == graph.output_type(pow) ? static_cast<int>(value)
                                                                        : 0;
}

absl::StatusOr<std::vector<TensorId>> SpellPower(const Node& node, int factors,
                                                 GraphBuilder* builder) {
  Expansion expansion(builder);
  TensorId product = node.inputs[0];
  for (int i = 1; i < factors; ++i) {
    product = expansion.Add(OpKind::kMul, {product, node.inputs[0]});
  }
  return expansion.Outputs({product});
}

absl::StatusOr<Graph> SpellOut(const Graph& graph) {
  GraphBuilder builder;
  GraphCopier copier(graph, &builder);
  for (NodeId id = 0; id < graph.node_count(); ++id) {
    Node node = copier.Detached(id);
    // Expansions ask how many outputs are wanted.
    node.outputs = graph.node(id).outputs;
    const int factors = node.op == OpKind::kPow ? FactorsOf(graph, id) : 0;
    std::vector<TensorId> outputs;
    if (node.op == OpKind::kBatchNormalization) {
      PLAIT_ASSIGN_OR_RETURN(outputs, SpellBatchNormalization(node, &builder));
    } else if (node.op == OpKind::kLayerNormalization || node.op == OpKind::kRMSNormalization ||
               node.op == OpKind::kSwish) {
      PLAIT_ASSIGN_OR_RETURN(outputs, SpecOf(node.op).expand(node, &builder));
    } else if (factors > 0) {
      PLAIT_ASSIGN_OR_RETURN(outputs, SpellPower(node, factors, &builder));
    } else {
      copier.CopyNode(id);
      continue;
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (graph.node(id).outputs[i] != kNoTensor) copier.Set(graph.node(id).outputs[i], outputs[i]);
    }
  }
  copier.CopyOutputs();
  return std::move(builder).Finish();
}

void AddValues(FingerprintBuilder& builder, const EvalTensor& tensor) {
  if (const auto* elements = std::get_if<std::vector<FieldElement>>(&tensor.values)) {
    for (const FieldElement& element : *elements) builder.Add(element.value());
  } else if (const auto* integers = std::get_if<std::vector<int64_t>>(&tensor.values)) {
    for (const int64_t integer : *integers) builder.Add(integer);
  }
}

// Constants here are written by tests and rules, and not deep.
absl::StatusOr<EvalTensor> ValueOf(const Constant& constant) {
  const auto* apply = std::get_if<Constant::Apply>(&constant.value());
  if (apply == nullptr) return RunConstant(constant, NoWeights(), Numbers::kField);
  std::vector<EvalTensor> values(apply->inputs.size());
  std::vector<const EvalTensor*> inputs(apply->inputs.size(), nullptr);
  std::vector<const Tensor*> constants(apply->inputs.size(), nullptr);
  for (size_t i = 0; i < apply->inputs.size(); ++i) {
    if (apply->inputs[i] == nullptr) continue;
    PLAIT_ASSIGN_OR_RETURN(values[i], ValueOf(*apply->inputs[i]));
    inputs[i] = &values[i];
    constants[i] = apply->inputs[i]->inline_value();
  }
  PLAIT_ASSIGN_OR_RETURN(
      std::vector<EvalTensor> outputs,
      RunWithUnknownFunction({apply->op, *apply->attributes, constants, apply->output_index + 1},
                             inputs));
  return std::move(outputs[static_cast<size_t>(apply->output_index)]);
}

}  // namespace

absl::StatusOr<std::vector<EvalTensor>> RunWithUnknownFunction(const OperatorUse& use,
                                                               EvalInputs inputs) {
  absl::StatusOr<std::vector<EvalTensor>> outputs = RunOperator(use, inputs, Numbers::kField);
  const bool is_unknown = absl::IsUnimplemented(outputs.status()) &&
                          HasTraits(use.op, kElementwiseUnary) && use.output_count == 1;
  if (!is_unknown) return outputs;
  const auto* elements = std::get_if<std::vector<FieldElement>>(&inputs[0]->values);
  if (elements == nullptr) return outputs;
  FingerprintBuilder function;
  function.Add(OpKindName(use.op)).Add(use.attributes.fingerprint());
  for (const EvalTensor* further : inputs.subspan(1)) {
    function.Add(further != nullptr);
    if (further != nullptr) AddValues(function, *further);
  }
  std::vector<FieldElement> results;
  for (const FieldElement& element : *elements) {
    results.push_back(FieldElement(FingerprintBuilder(function).Add(element.value()).Finish().low));
  }
  return std::vector<EvalTensor>{{inputs[0]->type, std::move(results)}};
}

absl::StatusOr<std::vector<EvalTensor>> EvaluateWithUnknownFunctions(
    const Graph& graph, const std::vector<EvalTensor>& inputs) {
  PLAIT_ASSIGN_OR_RETURN(const Graph spelled, SpellOut(graph));
  std::vector<EvalTensor> values(spelled.tensor_count());
  for (size_t i = 0; i < inputs.size(); ++i) values[spelled.inputs()[i]] = inputs[i];
  for (TensorId tensor = 0; tensor < spelled.tensor_count(); ++tensor) {
    const ConstantRef& constant = spelled.tensor(tensor).constant;
    if (constant == nullptr) continue;
    PLAIT_ASSIGN_OR_RETURN(values[tensor], ValueOf(*constant));
  }
  for (NodeId id = 0; id < spelled.node_count(); ++id) {
    const Node& node = spelled.node(id);
    std::vector<const EvalTensor*> node_inputs;
    std::vector<const Tensor*> constants;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const bool is_there = node.inputs[i] != kNoTensor;
      node_inputs.push_back(is_there ? &values[node.inputs[i]] : nullptr);
      constants.push_back(spelled.inline_constant(id, static_cast<int>(i)));
    }
    PLAIT_ASSIGN_OR_RETURN(std::vector<EvalTensor> outputs,
                           RunWithUnknownFunction({node.op, *node.attributes, constants,
                                                   static_cast<int>(node.outputs.size())},
                                                  node_inputs));
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] != kNoTensor) values[node.outputs[i]] = std::move(outputs[i]);
    }
  }
  std::vector<EvalTensor> results;
  for (const TensorId output : spelled.outputs()) results.push_back(values[output]);
  return results;
}

}  // namespace plait
