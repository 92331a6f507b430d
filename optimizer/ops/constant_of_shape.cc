#include "base/status_macros.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/ops/shared/movement.h"
#include "optimizer/ops/shared/type_set.h"

namespace plait {
namespace {

// The one element that the output consists of; float32 zero by default.
absl::StatusOr<Tensor> FillValue(const Attributes& attributes) {
  const AttributeValue* attribute = attributes.Find("value");
  if (attribute == nullptr) return Tensor::ScalarFloat(0.0f);
  const Tensor* value = std::get_if<Tensor>(attribute);
  if (value == nullptr) return absl::UnimplementedError("the value must be a tensor of numbers");
  if (value->elements() != 1) {
    return absl::InvalidArgumentError("the value must have one element");
  }
  if (!Contains(TypeSet::kAny, value->type().dtype)) {
    return absl::UnimplementedError("the value must be a number");
  }
  return *value;
}

Types InferConstantOfShape(const OpCall& call) {
  PLAIT_ASSIGN_OR_RETURN(const Tensor value, FillValue(call.attributes));
  PLAIT_ASSIGN_OR_RETURN(const std::vector<int64_t> dims, ConstantInts(call, 0));
  PLAIT_ASSIGN_OR_RETURN(TensorType type,
                         CheckedType(value.type().dtype, Shape(dims.begin(), dims.end())));
  return std::vector<TensorType>{std::move(type)};
}

absl::Status EvaluateConstantOfShape(const OpCall& call, EvalInputs, EvalOutputs outputs) {
  PLAIT_ASSIGN_OR_RETURN(const Tensor value, FillValue(call.attributes));
  const bool in_field = std::holds_alternative<std::vector<FieldElement>>(outputs[0].values);
  const EvalTensor scalar = in_field ? ToFieldTensor(value) : ToEvalTensor(value);
  CopyStrided(scalar, 0, outputs[0].type.shape, Shape(outputs[0].type.shape.size(), 0),
              &outputs[0]);
  return absl::OkStatus();
}

}  // namespace

// y = one value, everywhere, in the shape that the input says. The shape must be a constant, so
// that the output is one too, and the normal form folds it.
const OpSpec kConstantOfShapeSpec = {
    .kind = OpKind::kConstantOfShape,
    .since_opset = 9,
    .infer = InferConstantOfShape,
    .work = FillWork,
    .evaluate = EvaluateConstantOfShape,
};

}  // namespace plait
