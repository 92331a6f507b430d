#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ops/shared/op_spec.h"
#include "optimizer/ops/shared/quantization.h"
#include "optimizer/ops/shared/type_set.h"

namespace plait {
namespace {

// The result has the type of the scale, or the one that is named.
absl::StatusOr<DataType> DequantizedType(const OpCall& call) {
  const int64_t named = call.attributes.Int("output_dtype", 0);
  if (named == 0) return call.input_types[1].dtype;
  if (named < 0 || named > static_cast<int64_t>(DataType::kBfloat16) ||
      !IsFloat(static_cast<DataType>(named))) {
    return absl::UnimplementedError(absl::StrCat("plait cannot compute element type ", named));
  }
  return static_cast<DataType>(named);
}

Types InferDequantizeLinear(const OpCall& call) {
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, 0, TypeSet::kInteger));
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, 1, TypeSet::kFloat));
  const DataType dtype = call.input_types[0].dtype;
  if (dtype != DataType::kInt32 && !QuantizedRange(dtype).has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("input 0 must be of 8, 16 or 32 bits, is ", call.input_types[0].ToString()));
  }
  if (call.has_input(2)) PLAIT_RETURN_IF_ERROR(CheckSameDataType(call, 0, 2));
  PLAIT_RETURN_IF_ERROR(ReadScaleGrid(call).status());
  PLAIT_ASSIGN_OR_RETURN(const DataType wanted, DequantizedType(call));
  return std::vector<TensorType>{{wanted, call.input_types[0].shape}};
}

absl::Status EvaluateDequantizeLinear(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  PLAIT_ASSIGN_OR_RETURN(const ScaleGrid grid, ReadScaleGrid(call));
  const auto& x = std::get<std::vector<int64_t>>(inputs[0]->values);
  const bool has_zero_points = inputs.size() > 2 && inputs[2] != nullptr;
  return std::visit(
      [&](auto& y) -> absl::Status {
        using T = typename std::decay_t<decltype(y)>::value_type;
        if constexpr (std::is_same_v<T, int64_t>) {
          return absl::InternalError("the result is of floats");
        } else {
          const auto& scales = std::get<std::vector<T>>(inputs[1]->values);
          for (size_t i = 0; i < y.size(); ++i) {
            const int64_t at = grid.At(static_cast<int64_t>(i));
            const int64_t zero_point =
                has_zero_points ? std::get<std::vector<int64_t>>(inputs[2]->values)[at] : 0;
            if constexpr (std::is_same_v<T, FieldElement>) {
              y[i] = FieldElement::FromInt(x[i] - zero_point) * scales[at];
            } else {
              y[i] = static_cast<T>(x[i] - zero_point) * scales[at];
            }
          }
          return absl::OkStatus();
        }
      },
      outputs[0].values);
}

}  // namespace

// y = (x - zero point) * scale
const OpSpec kDequantizeLinearSpec = {
    .kind = OpKind::kDequantizeLinear,
    .since_opset = 10,
    .inputs = {2, 3},
    .infer = InferDequantizeLinear,
    .evaluate = EvaluateDequantizeLinear,
    .lower = LowerQuantization,
};

}  // namespace plait
