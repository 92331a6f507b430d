#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ops/shared/integer_product.h"
#include "optimizer/ops/shared/op_spec.h"
#include "optimizer/ops/shared/spatial_window.h"
#include "optimizer/ops/shared/type_set.h"

namespace plait {
namespace {

// Image, weights and result are followed by scale and zero point; the result is no input, and the
// last one is the bias.
constexpr size_t kImage = 0;
constexpr size_t kWeights = 3;
constexpr size_t kConvResultScale = 6;
constexpr size_t kConvResultZeroPoint = 7;
constexpr size_t kQLinearBias = 8;

// What Conv sees.
std::vector<TensorType> ConvInputs(const OpCall& call) {
  std::vector<TensorType> types = {call.input_types[kImage], call.input_types[kWeights]};
  if (call.has_input(kQLinearBias)) types.push_back(call.input_types[kQLinearBias]);
  return types;
}

Types InferQLinearConv(const OpCall& call) {
  PLAIT_RETURN_IF_ERROR(CheckQuantizedInput(call, kImage, kImage + 2));
  PLAIT_RETURN_IF_ERROR(CheckQuantizedInput(call, kWeights, kWeights + 2));
  PLAIT_RETURN_IF_ERROR(CheckQuantizedInput(call, kConvResultZeroPoint, kConvResultZeroPoint));
  for (const size_t scale : {kImage + 1, kWeights + 1, kConvResultScale}) {
    PLAIT_RETURN_IF_ERROR(CheckDataType(call, scale, TypeSet::kFloat));
  }
  if (call.has_input(kQLinearBias) && call.input_types[kQLinearBias].dtype != DataType::kInt32) {
    return absl::InvalidArgumentError(
        absl::StrCat("the bias must be int32, is ", call.input_types[kQLinearBias].ToString()));
  }
  PLAIT_ASSIGN_OR_RETURN(std::vector<TensorType> types,
                         InferProduct(kConvSpec, call.attributes, ConvInputs(call),
                                      call.input_types[kConvResultZeroPoint].dtype));
  const int spatial = call.input_types[kWeights].rank() - 2;
  for (const size_t one : {kImage + 1, kImage + 2, kConvResultScale, kConvResultZeroPoint}) {
    PLAIT_RETURN_IF_ERROR(CheckBroadcast(AlongAxis(call.input_types[one].shape, 0), {}, one));
  }
  PLAIT_RETURN_IF_ERROR(CheckBroadcast(AlongAxis(call.input_types[kWeights + 1].shape, spatial),
                                       types[0].shape, kWeights + 1));
  PLAIT_RETURN_IF_ERROR(CheckBroadcast(AlongAxis(call.input_types[kWeights + 2].shape, spatial + 1),
                                       call.input_types[kWeights].shape, kWeights + 2));
  return types;
}

Work WorkOfQLinearConv(const OpCall& call, absl::Span<const TensorType> output_types) {
  return WorkOfProduct(kConvSpec, call, ConvInputs(call), output_types);
}

absl::Status EvaluateQLinearConv(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  const int spatial = call.input_types[kWeights].rank() - 2;
  const auto broadcast = [&](size_t input, int inner) {
    return BroadcastInput{inputs[input], AlongAxis(inputs[input]->type.shape, inner)};
  };
  const BroadcastInput image_zero = broadcast(kImage + 2, 0);
  const BroadcastInput weights_zero = broadcast(kWeights + 2, spatial + 1);
  std::vector<EvalTensor> operands = {
      WithoutZeroPoint(*inputs[kImage], image_zero.values, image_zero.shape),
      WithoutZeroPoint(*inputs[kWeights], weights_zero.values, weights_zero.shape)};
  if (call.has_input(kQLinearBias)) operands.push_back(*inputs[kQLinearBias]);
  PLAIT_ASSIGN_OR_RETURN(
      const std::vector<int64_t> sums,
      MultiplyIntegers(kConvSpec, call.attributes, operands, outputs[0].type.shape));
  return Requantize(sums,
                    {broadcast(kImage + 1, 0), broadcast(kWeights + 1, spatial),
                     broadcast(kConvResultScale, 0), broadcast(kConvResultZeroPoint, 0)},
                    &outputs[0]);
}

// The weights are not where Conv has them.
absl::Status RaiseQLinearConv(VersionedNode* node) {
  const bool knows_weights = node->input_types.size() > kWeights;
  if (node->attributes.Ints("kernel_shape").empty() && knows_weights &&
      node->input_types[kWeights].rank() > 2) {
    const Shape& shape = node->input_types[kWeights].shape;
    node->attributes.Set("kernel_shape", std::vector<int64_t>(shape.begin() + 2, shape.end()));
  }
  return RaiseAutoPad(node);
}

}  // namespace

// y = Conv of x by w, each less its zero point and times its scale, in the integers that y's scale
// and zero point give. The bias has the scale of the sums.
const OpSpec kQLinearConvSpec = {
    .kind = OpKind::kQLinearConv,
    .since_opset = 10,
    .inputs = {8, 9},
    .infer = InferQLinearConv,
    .work = WorkOfQLinearConv,
    .evaluate = EvaluateQLinearConv,
    .raise = RaiseQLinearConv,
};

}  // namespace plait
