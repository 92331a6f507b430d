#include "base/status_macros.h"
#include "optimizer/ops/shared/integer_product.h"
#include "optimizer/ops/shared/op_spec.h"
#include "optimizer/ops/shared/type_set.h"
#include "optimizer/ops/shared/versions.h"

namespace plait {
namespace {

// Each of a, b and y is followed by its scale and its zero point; y is no input.
constexpr size_t kLeft = 0;
constexpr size_t kRight = 3;
constexpr size_t kMatMulResultScale = 6;
constexpr size_t kMatMulResultZeroPoint = 7;

// Scales and zero points of a and y have an element for each row, those of b for each column.
int InnerAxes(size_t input) { return input == kRight + 1 || input == kRight + 2 ? 0 : 1; }

Types InferQLinearMatMul(const OpCall& call) {
  PLAIT_RETURN_IF_ERROR(CheckQuantizedInput(call, kLeft, kLeft + 2));
  PLAIT_RETURN_IF_ERROR(CheckQuantizedInput(call, kRight, kRight + 2));
  PLAIT_RETURN_IF_ERROR(CheckQuantizedInput(call, kMatMulResultZeroPoint, kMatMulResultZeroPoint));
  for (const size_t scale : {kLeft + 1, kRight + 1, kMatMulResultScale}) {
    PLAIT_RETURN_IF_ERROR(CheckDataType(call, scale, TypeSet::kFloat));
  }
  PLAIT_ASSIGN_OR_RETURN(std::vector<TensorType> types,
                         InferProduct(kMatMulSpec, call.attributes,
                                      {call.input_types[kLeft], call.input_types[kRight]},
                                      call.input_types[kMatMulResultZeroPoint].dtype));
  const auto check = [&](size_t input, const Shape& to) {
    return CheckBroadcast(AlongAxis(call.input_types[input].shape, InnerAxes(input)), to, input);
  };
  for (const size_t operand : {kLeft, kRight}) {
    PLAIT_RETURN_IF_ERROR(check(operand + 2, call.input_types[operand].shape));
    PLAIT_RETURN_IF_ERROR(check(operand + 1, types[0].shape));
  }
  PLAIT_RETURN_IF_ERROR(check(kMatMulResultScale, types[0].shape));
  PLAIT_RETURN_IF_ERROR(check(kMatMulResultZeroPoint, types[0].shape));
  return types;
}

Work WorkOfQLinearMatMul(const OpCall& call, absl::Span<const TensorType> output_types) {
  return WorkOfProduct(kMatMulSpec, call, {call.input_types[kLeft], call.input_types[kRight]},
                       output_types);
}

absl::Status EvaluateQLinearMatMul(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  const auto broadcast = [&](size_t input) {
    return BroadcastInput{inputs[input], AlongAxis(inputs[input]->type.shape, InnerAxes(input))};
  };
  std::vector<EvalTensor> operands;
  for (const size_t operand : {kLeft, kRight}) {
    const BroadcastInput zero_point = broadcast(operand + 2);
    operands.push_back(WithoutZeroPoint(*inputs[operand], zero_point.values, zero_point.shape));
  }
  PLAIT_ASSIGN_OR_RETURN(
      const std::vector<int64_t> sums,
      MultiplyIntegers(kMatMulSpec, call.attributes, operands, outputs[0].type.shape));
  return Requantize(sums,
                    {broadcast(kLeft + 1), broadcast(kRight + 1), broadcast(kMatMulResultScale),
                     broadcast(kMatMulResultZeroPoint)},
                    &outputs[0]);
}

// Until opset 20 scales were float32.
absl::Status LowerQLinearMatMul(VersionedNode* node) {
  if (node->opset >= 21 || node->input_types[kLeft + 1].dtype == DataType::kFloat32) {
    return absl::OkStatus();
  }
  return NeedsOpset("a scale of 16 bits", 21);
}

}  // namespace

// y = the product of a and b, each less its zero point and times its scale, in the integers that
// y's scale and zero point give.
const OpSpec kQLinearMatMulSpec = {
    .kind = OpKind::kQLinearMatMul,
    .since_opset = 10,
    .inputs = {8, 8},
    .infer = InferQLinearMatMul,
    .work = WorkOfQLinearMatMul,
    .evaluate = EvaluateQLinearMatMul,
    .lower = LowerQLinearMatMul,
};

}  // namespace plait
