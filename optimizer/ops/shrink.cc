#include "base/status_macros.h"
#include "optimizer/ops/shared/elementwise.h"

namespace plait {
namespace {

// ONNX does not say how the attributes, which are floats, meet an integer.
Types InferShrink(const OpCall& call) {
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, 0, TypeSet::kNumber));
  if (!IsFloat(call.input_types[0].dtype)) {
    return absl::UnimplementedError("a form for integers is not implemented");
  }
  return InferUnary(call, TypeSet::kFloat);
}

absl::Status EvaluateShrink(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  const double lambd = call.attributes.Float("lambd", 0.5f);
  const double bias = call.attributes.Float("bias", 0.0f);
  return EvaluateFloatUnary(inputs, outputs, [=](double x) {
    return x < -lambd ? x + bias : x > lambd ? x - bias : 0;
  });
}

}  // namespace

// y = x moved toward 0 by `bias` where |x| is larger than `lambd`, else 0.
const OpSpec kShrinkSpec = {
    .kind = OpKind::kShrink,
    .since_opset = 9,
    .traits = kElementwiseUnary,
    .infer = InferShrink,
    .evaluate = EvaluateShrink,
};

}  // namespace plait
