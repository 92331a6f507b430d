#include "optimizer/ops/evaluation/constant_expression.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "optimizer/ops/evaluation/evaluate.h"
#include "optimizer/ops/shared/op_spec.h"

namespace plait {
namespace {

// 64: more than any merge has siblings. Without a limit a model could make lists that grow
// exponentially, by Concats of one Concat with itself.
constexpr size_t kFlatInputsMax = 64;

// Concat(Concat(a, b), c) = Concat(a, b, c) along one axis: merging what was merged gives the
// constant of merging all at once.
std::vector<ConstantRef> WithoutInnerConcats(const AttributesRef& attributes,
                                             const std::vector<ConstantRef>& inputs) {
  std::vector<ConstantRef> flat;
  for (const ConstantRef& input : inputs) {
    const auto* inner = input == nullptr ? nullptr : std::get_if<Constant::Apply>(&input->value());
    if (inner != nullptr && inner->op == OpKind::kConcat && *inner->attributes == *attributes) {
      flat.insert(flat.end(), inner->inputs.begin(), inner->inputs.end());
    } else {
      flat.push_back(input);
    }
  }
  return flat.size() <= kFlatInputsMax ? flat : inputs;
}

}  // namespace

bool MayBeFolded(const OpCall& call, OpKind op, absl::Span<const ConstantRef> inputs,
                 absl::Span<const TensorType> output_types) {
  const bool is_shallow = std::all_of(inputs.begin(), inputs.end(), [](const ConstantRef& input) {
    return input == nullptr || input->depth() < kConstantDepthMax;
  });
  const bool is_small =
      std::all_of(output_types.begin(), output_types.end(),
                  [](const TensorType& type) { return type.bytes() <= kFoldedBytesMax; });
  if (!is_shallow || !is_small) return false;
  const OpSpec& spec = SpecOf(op);
  const Work work =
      spec.work == nullptr ? DefaultWork(call, output_types) : spec.work(call, output_types);
  return work.flops <= kFoldedFlopsMax;
}

// Weights are not at hand here, so that an expression over one stays an expression.
absl::StatusOr<ConstantRef> ApplyToConstants(OpKind op, AttributesRef attributes,
                                             std::vector<ConstantRef> inputs, int output_index,
                                             int output_count) {
  if (op == OpKind::kConcat) inputs = WithoutInnerConcats(attributes, inputs);
  std::vector<TensorType> input_types;
  std::vector<const Tensor*> values;
  for (const ConstantRef& input : inputs) {
    input_types.push_back(input == nullptr ? TensorType{} : input->type());
    values.push_back(input == nullptr ? nullptr : input->inline_value());
  }
  PLAIT_ASSIGN_OR_RETURN(std::vector<TensorType> types,
                         InferTypes(op, *attributes, input_types, values, output_count));
  if (!MayBeFolded({*attributes, input_types, values, output_count}, op, inputs, types)) {
    return absl::ResourceExhaustedError(
        absl::StrCat(OpKindName(op), ": takes too long, or too much memory, for a constant"));
  }
  const TensorType type = types[output_index];
  const bool readable = std::all_of(inputs.begin(), inputs.end(), [](const ConstantRef& input) {
    return input == nullptr || input->inline_value() != nullptr;
  });
  auto expression = std::make_shared<const Constant>(
      type, Constant::Apply{op, std::move(attributes), std::move(inputs), output_index});
  if (!readable || type.bytes() > kInlineConstantBytesMax) return expression;
  PLAIT_ASSIGN_OR_RETURN(Tensor value, EvaluateConstant(*expression, NoWeights()));
  return Constant::OfTensor(std::move(value));
}

}  // namespace plait
