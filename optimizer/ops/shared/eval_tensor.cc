#include "optimizer/ops/shared/eval_tensor.h"

#include <bit>
#include <cmath>

#include "base/status_macros.h"

namespace plait {
namespace {

// Integers up to here are exact in a double, so they mean themselves in the field too.
constexpr double kExactIntegerMax = 9007199254740992.0;

// Unsigned and narrower integers wrap as two's complement does.
int64_t Wrap(int64_t value, DataType dtype) {
  switch (dtype) {
    case DataType::kInt8:
      return static_cast<int8_t>(value);
    case DataType::kInt16:
      return static_cast<int16_t>(value);
    case DataType::kInt32:
      return static_cast<int32_t>(value);
    case DataType::kUint8:
      return static_cast<uint8_t>(value);
    case DataType::kUint16:
      return static_cast<uint16_t>(value);
    case DataType::kUint32:
      return static_cast<uint32_t>(value);
    case DataType::kBool:
      return value != 0 ? 1 : 0;
    default:
      return value;
  }
}

}  // namespace

// Square and multiply: some 60 squarings instead of a search.
FieldElement FieldElement::Inverse() const {
  // Fermat: x^(p-2) = 1/x.
  FieldElement result(1);
  FieldElement power = *this;
  for (uint64_t exponent = kPrime - 2; exponent > 0; exponent >>= 1) {
    if (exponent & 1) result = result * power;
    power = power * power;
  }
  return result;
}

// Integers keep their arithmetic, so that 2 * 3 = 6 holds in the field. Any other number, a half or
// a root, becomes some fixed element: equal numbers stay equal, and nothing else is claimed.
FieldElement ToFieldElement(double value) {
  if (std::abs(value) <= kExactIntegerMax && value == std::floor(value)) {
    return FieldElement::FromInt(static_cast<int64_t>(value));
  }
  return FieldElement(std::bit_cast<uint64_t>(value));
}

EvalTensor ToEvalTensor(const Tensor& tensor) {
  if (IsFloat(tensor.type().dtype)) return {tensor.type(), tensor.AsDoubles()};
  return {tensor.type(), tensor.AsInt64s()};
}

EvalTensor ToFieldTensor(const Tensor& tensor) {
  if (!IsFloat(tensor.type().dtype)) return {tensor.type(), tensor.AsInt64s()};
  const std::vector<double> values = tensor.AsDoubles();
  std::vector<FieldElement> elements(values.size());
  for (size_t i = 0; i < values.size(); ++i) elements[i] = ToFieldElement(values[i]);
  return {tensor.type(), std::move(elements)};
}

EvalTensor ZeroEvalTensor(const TensorType& type, bool in_field) {
  const size_t count = static_cast<size_t>(type.elements());
  if (!IsFloat(type.dtype)) return {type, std::vector<int64_t>(count)};
  if (in_field) return {type, std::vector<FieldElement>(count)};
  return {type, std::vector<double>(count)};
}

// Computed in double and rounded once per node, as a machine of that type would store it.
void RoundToType(EvalTensor* tensor) {
  const DataType dtype = tensor->type.dtype;
  if (auto* integers = std::get_if<std::vector<int64_t>>(&tensor->values)) {
    for (int64_t& value : *integers) value = Wrap(value, dtype);
  }
  auto* floats = std::get_if<std::vector<double>>(&tensor->values);
  if (floats == nullptr || dtype == DataType::kFloat64) return;
  if (dtype == DataType::kFloat32) {
    for (double& value : *floats) value = static_cast<float>(value);
    return;
  }
  *floats = Tensor::FromDoubles(tensor->type, *floats).AsDoubles();
}

Tensor FromEvalTensor(const EvalTensor& tensor) {
  PLAIT_CHECK(!std::holds_alternative<std::vector<FieldElement>>(tensor.values));
  if (const auto* floats = std::get_if<std::vector<double>>(&tensor.values)) {
    return Tensor::FromDoubles(tensor.type, *floats);
  }
  std::vector<int64_t> integers = std::get<std::vector<int64_t>>(tensor.values);
  for (int64_t& value : integers) value = Wrap(value, tensor.type.dtype);
  return Tensor::FromInt64s(tensor.type, integers);
}

}  // namespace plait
