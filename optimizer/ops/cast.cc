#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ops/shared/convert_number.h"
#include "optimizer/ops/shared/elementwise.h"

namespace plait {
namespace {

Types InferCast(const OpCall& call) {
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, 0, TypeSet::kAny));
  const int64_t to = call.attributes.Int("to", 0);
  if (to <= 0) return absl::InvalidArgumentError("needs an attribute \"to\"");
  // Numbers beyond bfloat16's are newer types, such as the 8-bit floats.
  if (to > static_cast<int64_t>(DataType::kBfloat16) ||
      !Contains(TypeSet::kAny, static_cast<DataType>(to))) {
    return absl::UnimplementedError(absl::StrCat("plait cannot compute with element type ", to));
  }
  return std::vector<TensorType>{{static_cast<DataType>(to), call.input_types[0].shape}};
}

absl::Status CastFloats(const std::vector<double>& from, EvalTensor* output) {
  if (IsFloat(output->type.dtype)) {
    output->values = from;
    return absl::OkStatus();
  }
  std::vector<int64_t> to(from.size());
  for (size_t i = 0; i < from.size(); ++i) to[i] = IntegerOf(from[i], output->type.dtype);
  output->values = std::move(to);
  return absl::OkStatus();
}

absl::Status CastIntegers(const EvalTensor& input, EvalTensor* output) {
  const auto& from = std::get<std::vector<int64_t>>(input.values);
  if (!IsFloat(output->type.dtype)) {
    output->values = from;
    return absl::OkStatus();
  }
  if (auto* elements = std::get_if<std::vector<FieldElement>>(&output->values)) {
    for (size_t i = 0; i < from.size(); ++i) (*elements)[i] = FieldElement::FromInt(from[i]);
    return absl::OkStatus();
  }
  std::vector<double> to(from.size());
  for (size_t i = 0; i < from.size(); ++i) {
    to[i] = FloatOf(from[i], input.type.dtype, output->type.dtype);
  }
  output->values = std::move(to);
  return absl::OkStatus();
}

absl::Status EvaluateCast(const OpCall&, EvalInputs inputs, EvalOutputs outputs) {
  const EvalTensor& input = *inputs[0];
  EvalTensor& output = outputs[0];
  if (const auto* floats = std::get_if<std::vector<double>>(&input.values)) {
    return CastFloats(*floats, &output);
  }
  if (std::holds_alternative<std::vector<int64_t>>(input.values)) {
    return CastIntegers(input, &output);
  }
  // Only a cast that loses no value is the identity in the field.
  const DataType from = input.type.dtype;
  const bool keeps_values = from == output.type.dtype || output.type.dtype == DataType::kFloat64 ||
                            (output.type.dtype == DataType::kFloat32 && from != DataType::kFloat64);
  if (!keeps_values) return NoMeaningInField();
  output.values = input.values;
  return absl::OkStatus();
}

// "saturate" and "round_mode" speak of 8-bit floats, which are not understood; without them the
// node means the same in every opset.
absl::Status DropFloat8Attributes(VersionedNode* node) {
  node->attributes.Erase("saturate");
  node->attributes.Erase("round_mode");
  return absl::OkStatus();
}

}  // namespace

// y = x in another element type. Float to integer cuts the fraction; integer to narrower integer
// keeps the low bits; anything but zero is true.
const OpSpec kCastSpec = {
    .kind = OpKind::kCast,
    .traits = kElementwiseUnary,
    .infer = InferCast,
    .evaluate = EvaluateCast,
    .raise = DropFloat8Attributes,
    .lower = DropFloat8Attributes,
};

}  // namespace plait
