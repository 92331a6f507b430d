#include "gpu_worker/backends/cuda/offers/scale_shift_constants.h"

#include <utility>
#include <vector>

#include "optimizer/ops/evaluation/constant_expression.h"

namespace plait::cuda {
namespace {

// Null where an argument is, or where the operator refuses them.
ConstantRef Apply(OpKind op, std::vector<ConstantRef> inputs) {
  for (const ConstantRef& input : inputs) {
    if (input == nullptr) return nullptr;
  }
  absl::StatusOr<ConstantRef> result = ApplyToConstants(op, NoAttributes(), std::move(inputs));
  return result.ok() ? *std::move(result) : nullptr;
}

}  // namespace

std::optional<ScaleShiftConstants> NormalizationAt(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.op != OpKind::kBatchNormalization || node.inputs.size() != 5) return std::nullopt;
  ConstantRef values[4];
  for (size_t i = 0; i < 4; ++i) {
    if (node.inputs[i + 1] == kNoTensor) return std::nullopt;
    values[i] = graph.tensor(node.inputs[i + 1]).constant;
    if (values[i] == nullptr || values[i]->type().dtype != DataType::kFloat32) return std::nullopt;
  }
  const auto& [gamma, beta, mean, variance] = values;
  const ConstantRef epsilon =
      Constant::OfTensor(Tensor::ScalarFloat(node.attributes->Float("epsilon", 1e-5F)));
  ScaleShiftConstants constants;
  constants.scale = Apply(
      OpKind::kDiv, {gamma, Apply(OpKind::kSqrt, {Apply(OpKind::kAdd, {variance, epsilon})})});
  constants.shift = Apply(OpKind::kSub, {beta, Apply(OpKind::kMul, {mean, constants.scale})});
  if (constants.shift == nullptr) return std::nullopt;
  return constants;
}

}  // namespace plait::cuda
