#include "base/status_macros.h"
#include "optimizer/ops/shared/integer_product.h"
#include "optimizer/ops/shared/op_spec.h"
#include "optimizer/ops/shared/spatial_window.h"

namespace plait {
namespace {

// The image has one zero point, and the weights may have one for each of their channels.
Types InferConvInteger(const OpCall& call) {
  PLAIT_RETURN_IF_ERROR(CheckQuantizedInput(call, 0, 2));
  PLAIT_RETURN_IF_ERROR(CheckQuantizedInput(call, 1, 3));
  PLAIT_ASSIGN_OR_RETURN(
      std::vector<TensorType> types,
      InferProduct(kConvSpec, call.attributes, call.input_types.subspan(0, 2), DataType::kInt32));
  if (call.has_input(2)) {
    PLAIT_RETURN_IF_ERROR(CheckBroadcast(AlongAxis(call.input_types[2].shape, 0), {}, 2));
  }
  if (call.has_input(3)) {
    const TensorType& weights = call.input_types[1];
    PLAIT_RETURN_IF_ERROR(
        CheckBroadcast(AlongAxis(call.input_types[3].shape, weights.rank() - 1), weights.shape, 3));
  }
  return types;
}

Work WorkOfConvInteger(const OpCall& call, absl::Span<const TensorType> output_types) {
  return WorkOfProduct(kConvSpec, call, call.input_types.subspan(0, 2), output_types);
}

// Padding is what the zero point stands for: 0 when that is taken off.
absl::Status EvaluateConvInteger(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  std::vector<EvalTensor> operands;
  for (const size_t i : {0, 1}) {
    const EvalTensor* const zero_point = i + 2 < inputs.size() ? inputs[i + 2] : nullptr;
    const int inner = i == 0 ? 0 : inputs[1]->type.rank() - 1;
    const Shape shape = zero_point == nullptr ? Shape{} : AlongAxis(zero_point->type.shape, inner);
    operands.push_back(WithoutZeroPoint(*inputs[i], zero_point, shape));
  }
  PLAIT_ASSIGN_OR_RETURN(outputs[0].values, MultiplyIntegers(kConvSpec, call.attributes, operands,
                                                             outputs[0].type.shape));
  return absl::OkStatus();
}

}  // namespace

// Conv of (x - zero point of x) by (w - zero point of w), as int32.
const OpSpec kConvIntegerSpec = {
    .kind = OpKind::kConvInteger,
    .since_opset = 10,
    .inputs = {2, 4},
    .infer = InferConvInteger,
    .work = WorkOfConvInteger,
    .evaluate = EvaluateConvInteger,
    .raise = RaiseAutoPad,
};

}  // namespace plait
