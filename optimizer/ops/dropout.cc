#include "base/status_macros.h"
#include "optimizer/ops/shared/movement.h"
#include "optimizer/ops/shared/type_set.h"
#include "optimizer/ops/shared/versions.h"

namespace plait {
namespace {

constexpr size_t kRatio = 1;
constexpr size_t kTrainingMode = 2;

// Only inference is understood, where nothing is dropped: the output is the input, the mask all
// true.
Types InferDropout(const OpCall& call) {
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, 0, TypeSet::kFloat));
  if (call.has_input(kTrainingMode)) {
    const Tensor* training = call.constant(kTrainingMode);
    if (training == nullptr || training->type().dtype != DataType::kBool ||
        training->elements() != 1 || training->at<uint8_t>(0) != 0) {
      return absl::UnimplementedError("training_mode must be the constant false");
    }
  }
  if (call.has_input(kRatio)) {
    PLAIT_RETURN_IF_ERROR(CheckDataType(call, kRatio, TypeSet::kFloat));
    if (call.input_types[kRatio].elements() != 1) {
      return absl::InvalidArgumentError("the ratio must be a scalar");
    }
  }
  std::vector<TensorType> types = {call.input_types[0]};
  if (call.output_count > 1) {
    types.push_back(TensorType{DataType::kBool, call.input_types[0].shape});
  }
  return types;
}

absl::Status EvaluateDropout(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  if (outputs.size() > 1) {
    outputs[1].values =
        std::vector<int64_t>(static_cast<size_t>(outputs[1].type.elements()), int64_t{1});
  }
  return EvaluateView(call, inputs, outputs);
}

// Opset 12 made the ratio an input; before, dropout was for inference alone.
absl::Status RaiseDropout(VersionedNode* node) {
  if (node->opset >= 12) return absl::OkStatus();
  if (node->opset < 10 && node->output_count > 1) {
    return absl::UnimplementedError("a mask of the input's type is not understood");
  }
  if (!node->attributes.Has("ratio")) return absl::OkStatus();
  SetConstantInput(node, kRatio, Tensor::ScalarFloat(node->attributes.Float("ratio", 0.5f)));
  node->attributes.Erase("ratio");
  return absl::OkStatus();
}

absl::Status LowerDropout(VersionedNode* node) {
  if (node->opset >= 12) return absl::OkStatus();
  if (node->opset < 10 && node->output_count > 1) return NeedsOpset("a bool mask", 10);
  // Inference ignores training_mode (false, or infer refuses the node), seed and ratio; the ratio
  // is kept for readers.
  DropInput(node, kTrainingMode);
  node->attributes.Erase("seed");
  if (HasInput(*node, kRatio) && node->constants[kRatio].has_value()) {
    node->attributes.Set("ratio", static_cast<float>(node->constants[kRatio]->AsDoubles()[0]));
  }
  DropInput(node, kRatio);
  return absl::OkStatus();
}

}  // namespace

// y = x: at inference nothing is dropped. Opset 12 made the ratio an input and added training_mode.
const OpSpec kDropoutSpec = {
    .kind = OpKind::kDropout,
    .inputs = {1, 3},
    .outputs = {1, 2},
    .traits = kView,
    .infer = InferDropout,
    .work = NoWork,
    .evaluate = EvaluateDropout,
    .raise = RaiseDropout,
    .lower = LowerDropout,
};

}  // namespace plait
