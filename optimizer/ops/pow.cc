#include <cmath>
#include <limits>

#include "base/status_macros.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/ops/shared/elementwise.h"
#include "optimizer/ops/shared/versions.h"

namespace plait {
namespace {

// The one elementwise operator whose inputs may differ in type.
Types InferPow(const OpCall& call) {
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, 0, TypeSet::kNumber));
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, 1, TypeSet::kNumber));
  PLAIT_ASSIGN_OR_RETURN(Shape shape,
                         BroadcastShapes(call.input_types[0].shape, call.input_types[1].shape));
  PLAIT_ASSIGN_OR_RETURN(TensorType type, CheckedType(call.input_types[0].dtype, std::move(shape)));
  return std::vector<TensorType>{std::move(type)};
}

// Squares and multiplies; overflow wraps. A negative power of an integer is truncated to an
// integer.
int64_t IntegerPower(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 1) return 1;
    if (base == -1) return exponent % 2 == 0 ? 1 : -1;
    return 0;
  }
  uint64_t result = 1;
  uint64_t square = static_cast<uint64_t>(base);
  for (; exponent > 0; exponent >>= 1) {
    if (exponent & 1) result *= square;
    square *= square;
  }
  return static_cast<int64_t>(result);
}

// ONNX leaves conversions out of range undefined; here they saturate.
int64_t SaturatedInteger(double value) {
  constexpr double kLimit = 0x1.0p63;
  if (value != value) return 0;
  if (value >= kLimit) return std::numeric_limits<int64_t>::max();
  if (value < -kLimit) return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(value);
}

template <typename Base, typename Exponent>
Base Power(Base base, Exponent exponent) {
  if constexpr (std::is_same_v<Base, int64_t> && std::is_same_v<Exponent, int64_t>) {
    return IntegerPower(base, exponent);
  } else {
    const double power = std::pow(static_cast<double>(base), static_cast<double>(exponent));
    if constexpr (std::is_same_v<Base, int64_t>) return SaturatedInteger(power);
    return static_cast<Base>(power);
  }
}

// Base and exponent may have different element types; the result has that of the base.
absl::Status EvaluatePow(const OpCall&, EvalInputs inputs, EvalOutputs outputs) {
  return std::visit(
      [&](const auto& bases, const auto& exponents) -> absl::Status {
        using Base = typename std::decay_t<decltype(bases)>::value_type;
        using Exponent = typename std::decay_t<decltype(exponents)>::value_type;
        if constexpr (std::is_same_v<Base, FieldElement> ||
                      std::is_same_v<Exponent, FieldElement>) {
          return NoMeaningInField();
        } else {
          const Shape& shape = outputs[0].type.shape;
          std::vector<Base> results(static_cast<size_t>(ElementsOf(shape)));
          const std::array<Shape, 2> strides = {BroadcastStrides(inputs[0]->type.shape, shape),
                                                BroadcastStrides(inputs[1]->type.shape, shape)};
          ForEachIndex(shape, strides, [&](int64_t index, const std::array<int64_t, 2>& at) {
            results[index] = Power(bases[at[0]], exponents[at[1]]);
          });
          outputs[0].values = std::move(results);
          return absl::OkStatus();
        }
      },
      inputs[0]->values, inputs[1]->values);
}

absl::Status LowerPow(VersionedNode* node) {
  const DataType base = node->input_types[0].dtype;
  if (node->opset < 12 && (!IsFloat(base) || node->input_types[1].dtype != base)) {
    return NeedsOpset("an integer power", 12);
  }
  return absl::OkStatus();
}

}  // namespace

// y = a ^ b with numpy's broadcasting. Before opset 12 both were of one float type. An exponent is
// no element of the field but a number of factors, so that GF(p) has no powers of tensors.
const OpSpec kPowSpec = {
    .kind = OpKind::kPow,
    .inputs = {2, 2},
    .traits = kElementwiseBinary,
    .infer = InferPow,
    .evaluate = EvaluatePow,
    .lower = LowerPow,
};

}  // namespace plait
