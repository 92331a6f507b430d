#include <cstring>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/random.h"
#include "base/status_macros.h"
#include "optimizer/ir/float16.h"
#include "optimizer/ops/evaluation/evaluate.h"
#include "optimizer/ops/evaluation/run_operator.h"

namespace plait {
namespace {

class EmptyWeightSource : public WeightSource {
 public:
  absl::StatusOr<Tensor> Get(const Digest& digest, const TensorType& type) const override {
    return absl::NotFoundError(absl::StrCat("weight ", digest.ToString(), " of type ",
                                            type.ToString(),
                                            " is needed, but no weights are given"));
  }
};

absl::Status CheckFoldedSize(const TensorType& type) {
  if (type.bytes() <= kFoldedBytesMax) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("constant ", type.ToString(), " has more than ",
                                                   kFoldedBytesMax,
                                                   " bytes, the limit of folding"));
}

absl::StatusOr<Tensor> SyntheticTensor(const TensorType& type, uint64_t seed) {
  PLAIT_RETURN_IF_ERROR(CheckFoldedSize(type));
  if (!IsFloat(type.dtype) && !IsInteger(type.dtype) && type.dtype != DataType::kBool) {
    return absl::InvalidArgumentError(
        absl::StrCat("a synthetic constant cannot be ", type.ToString()));
  }
  Random random(seed);
  if (IsFloat(type.dtype)) {
    std::vector<double> values(static_cast<size_t>(type.elements()));
    for (double& value : values) value = random.Uniform(-1, 1);
    return Tensor::FromDoubles(type, values);
  }
  // The integers of [-1, 1) are -1 and 0, both of them valid indices; unsigned types have only 0.
  const bool is_signed = type.dtype == DataType::kInt8 || type.dtype == DataType::kInt16 ||
                         type.dtype == DataType::kInt32 || type.dtype == DataType::kInt64;
  std::vector<int64_t> values(static_cast<size_t>(type.elements()));
  if (is_signed) {
    for (int64_t& value : values) value = random.Integer(-1, 0);
  } else if (type.dtype == DataType::kBool) {
    for (int64_t& value : values) value = random.Integer(0, 1);
  }
  return Tensor::FromInt64s(type, values);
}

// A constant that is no expression.
absl::StatusOr<Tensor> LeafTensor(const Constant& constant, const WeightSource& weights) {
  if (const auto* weight = std::get_if<Constant::Weight>(&constant.value())) {
    PLAIT_ASSIGN_OR_RETURN(Tensor value, weights.Get(weight->digest, constant.type()));
    if (value.type() == constant.type()) return value;
    return absl::NotFoundError(absl::StrCat("weight ", weight->digest.ToString(), " is ",
                                            value.type().ToString(), ", needed is ",
                                            constant.type().ToString()));
  }
  if (const auto* synthetic = std::get_if<Constant::Synthetic>(&constant.value())) {
    return SyntheticTensor(constant.type(), synthetic->seed);
  }
  return std::get<Constant::Inline>(constant.value()).value;
}

// Whether it is a weight of 16 bits that is cast to float32: what most constants of a model are
// that computes in 16 bits.
bool IsWidenedLeaf(const Constant& constant, const Constant::Apply& apply) {
  constexpr auto kTo = static_cast<int64_t>(DataType::kFloat32);
  if (apply.op != OpKind::kCast || apply.attributes->Int("to", 0) != kTo) return false;
  if (apply.inputs.size() != 1 || apply.inputs[0] == nullptr) return false;
  const Constant& input = *apply.inputs[0];
  const DataType from = input.type().dtype;
  return (from == DataType::kFloat16 || from == DataType::kBfloat16) &&
         constant.type() == TensorType{DataType::kFloat32, input.type().shape} &&
         !std::holds_alternative<Constant::Apply>(input.value());
}

// Without the doubles that operators compute in, of which a large weight has gigabytes.
Tensor Widened(const Tensor& halves, const TensorType& type) {
  const bool is_bfloat16 = halves.type().dtype == DataType::kBfloat16;
  const absl::string_view from = halves.bytes();
  std::string bytes(static_cast<size_t>(type.bytes()), '\0');
  for (size_t i = 0; i < from.size() / 2; ++i) {
    uint16_t half;
    std::memcpy(&half, from.data() + 2 * i, sizeof(half));
    const auto number =
        static_cast<float>(is_bfloat16 ? Bfloat16ToDouble(half) : Float16ToDouble(half));
    std::memcpy(bytes.data() + 4 * i, &number, sizeof(number));
  }
  return Tensor(type, std::move(bytes));
}

using Values = absl::flat_hash_map<const Constant*, EvalTensor>;

// REQUIRES: `values` has the inputs of `apply`.
absl::StatusOr<EvalTensor> RunApply(const Constant& constant, const Constant::Apply& apply,
                                    const Values& values, Numbers numbers) {
  PLAIT_RETURN_IF_ERROR(CheckFoldedSize(constant.type()));
  std::vector<const EvalTensor*> inputs;
  std::vector<const Tensor*> constants;
  for (const ConstantRef& input : apply.inputs) {
    inputs.push_back(input == nullptr ? nullptr : &values.at(input.get()));
    constants.push_back(input == nullptr ? nullptr : input->inline_value());
  }
  if (apply.op == OpKind::kOpaque || apply.output_index < 0 || apply.output_index >= kVariadic) {
    return absl::InvalidArgumentError("a constant expression applies no known operator");
  }
  // Operators give the same first outputs however many are asked for; those with a fixed number of
  // outputs get it.
  const int output_count = std::max(apply.output_index + 1, SpecOf(apply.op).outputs.min);
  PLAIT_ASSIGN_OR_RETURN(
      std::vector<EvalTensor> outputs,
      RunOperator({apply.op, *apply.attributes, constants, output_count}, inputs, numbers));
  EvalTensor& result = outputs[static_cast<size_t>(apply.output_index)];
  if (result.type == constant.type()) return std::move(result);
  return absl::InvalidArgumentError(absl::StrCat("constant ", OpKindName(apply.op), " gives ",
                                                 result.type.ToString(), ", declared is ",
                                                 constant.type().ToString()));
}

}  // namespace

absl::StatusOr<EvalTensor> RunConstant(const Constant& constant, const WeightSource& weights,
                                       Numbers numbers) {
  // An own stack, because expressions are as deep as a model says; a table, because they share
  // parts.
  Values values;
  std::vector<const Constant*> pending = {&constant};
  while (!pending.empty()) {
    const Constant& next = *pending.back();
    if (values.contains(&next)) {
      pending.pop_back();
      continue;
    }
    const auto* apply = std::get_if<Constant::Apply>(&next.value());
    if (apply == nullptr) {
      PLAIT_ASSIGN_OR_RETURN(const Tensor leaf, LeafTensor(next, weights));
      values.emplace(&next, numbers == Numbers::kField ? ToFieldTensor(leaf) : ToEvalTensor(leaf));
      continue;
    }
    const size_t known = pending.size();
    for (const ConstantRef& input : apply->inputs) {
      if (input != nullptr && !values.contains(input.get())) pending.push_back(input.get());
    }
    if (pending.size() > known) continue;
    PLAIT_ASSIGN_OR_RETURN(EvalTensor value, RunApply(next, *apply, values, numbers));
    values.emplace(&next, std::move(value));
  }
  return std::move(values.at(&constant));
}

absl::StatusOr<Tensor> EvaluateConstant(const Constant& constant, const WeightSource& weights) {
  const auto* const apply = std::get_if<Constant::Apply>(&constant.value());
  if (apply == nullptr) return LeafTensor(constant, weights);
  if (IsWidenedLeaf(constant, *apply)) {
    PLAIT_RETURN_IF_ERROR(CheckFoldedSize(constant.type()));
    PLAIT_ASSIGN_OR_RETURN(const Tensor halves, LeafTensor(*apply->inputs[0], weights));
    return Widened(halves, constant.type());
  }
  PLAIT_ASSIGN_OR_RETURN(const EvalTensor value, RunConstant(constant, weights, Numbers::kReal));
  return FromEvalTensor(value);
}

const WeightSource& NoWeights() {
  static const EmptyWeightSource source;
  return source;
}

}  // namespace plait
