#include "base/status_macros.h"
#include "optimizer/ops/shared/integer_product.h"
#include "optimizer/ops/shared/op_spec.h"

namespace plait {
namespace {

// A zero point of the left side has an element for each row, one of the right side for each column.
Types InferMatMulInteger(const OpCall& call) {
  PLAIT_RETURN_IF_ERROR(CheckQuantizedInput(call, 0, 2));
  PLAIT_RETURN_IF_ERROR(CheckQuantizedInput(call, 1, 3));
  for (const size_t i : {0, 1}) {
    if (!call.has_input(i + 2)) continue;
    PLAIT_RETURN_IF_ERROR(CheckBroadcast(AlongAxis(call.input_types[i + 2].shape, i == 0 ? 1 : 0),
                                         call.input_types[i].shape, i + 2));
  }
  return InferProduct(kMatMulSpec, call.attributes, call.input_types.subspan(0, 2),
                      DataType::kInt32);
}

Work WorkOfMatMulInteger(const OpCall& call, absl::Span<const TensorType> output_types) {
  return WorkOfProduct(kMatMulSpec, call, call.input_types.subspan(0, 2), output_types);
}

absl::Status EvaluateMatMulInteger(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  std::vector<EvalTensor> operands;
  for (const size_t i : {0, 1}) {
    const EvalTensor* const zero_point = i + 2 < inputs.size() ? inputs[i + 2] : nullptr;
    const Shape shape =
        zero_point == nullptr ? Shape{} : AlongAxis(zero_point->type.shape, i == 0 ? 1 : 0);
    operands.push_back(WithoutZeroPoint(*inputs[i], zero_point, shape));
  }
  PLAIT_ASSIGN_OR_RETURN(outputs[0].values, MultiplyIntegers(kMatMulSpec, call.attributes, operands,
                                                             outputs[0].type.shape));
  return absl::OkStatus();
}

}  // namespace

// y = (a - zero point of a) * (b - zero point of b), as int32.
const OpSpec kMatMulIntegerSpec = {
    .kind = OpKind::kMatMulInteger,
    .since_opset = 10,
    .inputs = {2, 4},
    .infer = InferMatMulInteger,
    .work = WorkOfMatMulInteger,
    .evaluate = EvaluateMatMulInteger,
};

}  // namespace plait
