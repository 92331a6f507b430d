#include "optimizer/ops/shared/integer_product.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ops/shared/broadcast.h"
#include "optimizer/ops/shared/quantization.h"
#include "optimizer/ops/shared/type_set.h"

namespace plait {
namespace {

std::vector<TensorType> WithType(absl::Span<const TensorType> types, DataType dtype) {
  std::vector<TensorType> result(types.begin(), types.end());
  for (TensorType& type : result) type.dtype = dtype;
  return result;
}

}  // namespace

absl::Status CheckQuantizedInput(const OpCall& call, size_t value, size_t zero_point) {
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, value, TypeSet::kInteger));
  if (BytesOf(call.input_types[value].dtype) != 1) {
    return absl::InvalidArgumentError(absl::StrCat("input ", value, " must have 8 bits, is ",
                                                   call.input_types[value].ToString()));
  }
  if (!call.has_input(zero_point)) return absl::OkStatus();
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, zero_point, TypeSet::kInteger));
  return CheckSameDataType(call, value, zero_point);
}

Shape AlongAxis(const Shape& shape, int inner) {
  if (shape.size() != 1) return shape;
  if (shape[0] == 1) return {};
  Shape result = shape;
  result.insert(result.end(), static_cast<size_t>(inner), 1);
  return result;
}

absl::Status CheckBroadcast(const Shape& from, const Shape& to, size_t index) {
  const absl::StatusOr<Shape> both = BroadcastShapes(from, to);
  if (both.ok() && *both == to) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("input ", index, " of shape ", ShapeToString(from),
                                                 " does not fit ", ShapeToString(to)));
}

Types InferProduct(const OpSpec& spec, const Attributes& attributes,
                   absl::Span<const TensorType> inputs, DataType dtype) {
  const std::vector<TensorType> types = WithType(inputs, DataType::kFloat32);
  const std::vector<const Tensor*> constants(types.size(), nullptr);
  PLAIT_ASSIGN_OR_RETURN(std::vector<TensorType> result,
                         spec.infer({attributes, types, constants, 1}));
  result[0].dtype = dtype;
  return result;
}

Work WorkOfProduct(const OpSpec& spec, const OpCall& call, absl::Span<const TensorType> inputs,
                   absl::Span<const TensorType> output_types) {
  const std::vector<TensorType> types = WithType(inputs, DataType::kFloat32);
  const std::vector<const Tensor*> constants(types.size(), nullptr);
  const std::vector<TensorType> outputs = WithType(output_types, DataType::kFloat32);
  Work work = DefaultWork(call, output_types);
  work.flops = spec.work({call.attributes, types, constants, 1}, outputs).flops;
  return work;
}

EvalTensor WithoutZeroPoint(const EvalTensor& input, const EvalTensor* zero_point,
                            const Shape& shape) {
  EvalTensor result = {{DataType::kInt32, input.type.shape}, input.values};
  if (zero_point == nullptr) return result;
  const auto& zeros = std::get<std::vector<int64_t>>(zero_point->values);
  auto& values = std::get<std::vector<int64_t>>(result.values);
  ForEachIndex<1>(input.type.shape, {BroadcastStrides(shape, input.type.shape)},
                  [&](int64_t index, const std::array<int64_t, 1>& offsets) {
                    values[index] -= zeros[offsets[0]];
                  });
  return result;
}

absl::StatusOr<std::vector<int64_t>> MultiplyIntegers(const OpSpec& spec,
                                                      const Attributes& attributes,
                                                      const std::vector<EvalTensor>& inputs,
                                                      const Shape& shape) {
  std::vector<TensorType> types;
  std::vector<const EvalTensor*> pointers;
  for (const EvalTensor& input : inputs) {
    types.push_back(input.type);
    pointers.push_back(&input);
  }
  const std::vector<const Tensor*> constants(types.size(), nullptr);
  std::vector<EvalTensor> sums = {ZeroEvalTensor({DataType::kInt32, shape}, /*in_field=*/false)};
  PLAIT_RETURN_IF_ERROR(
      spec.evaluate({attributes, types, constants, 1}, pointers, absl::MakeSpan(sums)));
  RoundToType(&sums[0]);
  return std::get<std::vector<int64_t>>(std::move(sums[0].values));
}

absl::Status Requantize(const std::vector<int64_t>& sums, const Requantization& by, EvalTensor* y) {
  const auto* const left = std::get_if<std::vector<double>>(&by.left_scale.values->values);
  const auto* const right = std::get_if<std::vector<double>>(&by.right_scale.values->values);
  const auto* const scale = std::get_if<std::vector<double>>(&by.scale.values->values);
  if (left == nullptr || right == nullptr || scale == nullptr) {
    return absl::UnimplementedError("a field has no rounding");
  }
  const auto& zeros = std::get<std::vector<int64_t>>(by.zero_point.values->values);
  const IntegerRange range = *QuantizedRange(y->type.dtype);
  auto& values = std::get<std::vector<int64_t>>(y->values);
  const Shape& shape = y->type.shape;
  ForEachIndex<4>(
      shape,
      {BroadcastStrides(by.left_scale.shape, shape), BroadcastStrides(by.right_scale.shape, shape),
       BroadcastStrides(by.scale.shape, shape), BroadcastStrides(by.zero_point.shape, shape)},
      [&](int64_t index, const std::array<int64_t, 4>& at) {
        const float factor = static_cast<float>((*left)[at[0]]) *
                             static_cast<float>((*right)[at[1]]) /
                             static_cast<float>((*scale)[at[2]]);
        values[index] = Quantized(static_cast<float>(sums[index]) * factor, zeros[at[3]], range);
      });
  return absl::OkStatus();
}

}  // namespace plait
