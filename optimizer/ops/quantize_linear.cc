#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ops/shared/op_spec.h"
#include "optimizer/ops/shared/quantization.h"
#include "optimizer/ops/shared/type_set.h"

namespace plait {
namespace {

// The zero point says which integers are wanted, or else output_dtype, or else they are uint8.
absl::StatusOr<DataType> QuantizedType(const OpCall& call) {
  const int64_t named = call.attributes.Int("output_dtype", 0);
  const DataType dtype = call.has_input(2) ? call.input_types[2].dtype
                         : named == 0      ? DataType::kUint8
                                           : static_cast<DataType>(named);
  if (named < 0 || named > static_cast<int64_t>(DataType::kBfloat16) ||
      !QuantizedRange(dtype).has_value()) {
    return absl::UnimplementedError(
        absl::StrCat("only integers of 8 and 16 bits are implemented, not type ",
                     named == 0 ? static_cast<int64_t>(dtype) : named));
  }
  return dtype;
}

Types InferQuantizeLinear(const OpCall& call) {
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, 0, TypeSet::kNumber));
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, 1, TypeSet::kFloat));
  const DataType dtype = call.input_types[0].dtype;
  if (!IsFloat(dtype) && dtype != DataType::kInt32) {
    return absl::InvalidArgumentError(
        absl::StrCat("input 0 must be of floats or int32, is ", DataTypeName(dtype)));
  }
  if (dtype == DataType::kFloat64 || call.input_types[1].dtype == DataType::kFloat64) {
    return absl::InvalidArgumentError("float64 cannot be quantized");
  }
  if (call.attributes.Int("precision", 0) > 1) {
    return absl::UnimplementedError("quotients in less than float32 are not implemented");
  }
  PLAIT_RETURN_IF_ERROR(ReadScaleGrid(call).status());
  PLAIT_ASSIGN_OR_RETURN(const DataType wanted, QuantizedType(call));
  return std::vector<TensorType>{{wanted, call.input_types[0].shape}};
}

// In float32, as runtimes divide: in double, what lies between two integers would be rounded to the
// other one of them.
absl::Status EvaluateQuantizeLinear(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  const auto* const scales = std::get_if<std::vector<double>>(&inputs[1]->values);
  if (scales == nullptr) return absl::UnimplementedError("a field has no rounding");
  PLAIT_ASSIGN_OR_RETURN(const ScaleGrid grid, ReadScaleGrid(call));
  const IntegerRange range = *QuantizedRange(outputs[0].type.dtype);
  const bool has_zero_points = inputs.size() > 2 && inputs[2] != nullptr;
  auto& y = std::get<std::vector<int64_t>>(outputs[0].values);
  const auto* const floats = std::get_if<std::vector<double>>(&inputs[0]->values);
  const auto* const integers = std::get_if<std::vector<int64_t>>(&inputs[0]->values);
  if (floats == nullptr && integers == nullptr) {
    return absl::UnimplementedError("a field has no rounding");
  }
  for (size_t i = 0; i < y.size(); ++i) {
    const float x =
        floats != nullptr ? static_cast<float>((*floats)[i]) : static_cast<float>((*integers)[i]);
    const int64_t at = grid.At(static_cast<int64_t>(i));
    const int64_t zero_point =
        has_zero_points ? std::get<std::vector<int64_t>>(inputs[2]->values)[at] : 0;
    y[i] = Quantized(x / static_cast<float>((*scales)[at]), zero_point, range);
  }
  return absl::OkStatus();
}

}  // namespace

// y = saturate(round(x / scale) + zero point), and of two nearest integers the even one.
const OpSpec kQuantizeLinearSpec = {
    .kind = OpKind::kQuantizeLinear,
    .since_opset = 10,
    .inputs = {2, 3},
    .infer = InferQuantizeLinear,
    .evaluate = EvaluateQuantizeLinear,
    .lower = LowerQuantization,
};

}  // namespace plait
