#include <optional>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ops/shared/elementwise.h"
#include "optimizer/ops/shared/versions.h"

namespace plait {
namespace {

constexpr size_t kMin = 1;
constexpr size_t kMax = 2;

absl::Status CheckBound(const OpCall& call, size_t index) {
  if (!call.has_input(index)) return absl::OkStatus();
  PLAIT_RETURN_IF_ERROR(CheckSameDataType(call, 0, index));
  // The standard says scalar; exporters also write one element in a list.
  if (call.input_types[index].elements() == 1) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("input ", index, " must be a scalar, has shape ",
                                                 ShapeToString(call.input_types[index].shape)));
}

Types InferClip(const OpCall& call) {
  PLAIT_RETURN_IF_ERROR(CheckBound(call, kMin));
  PLAIT_RETURN_IF_ERROR(CheckBound(call, kMax));
  return InferUnary(call, TypeSet::kNumber);
}

// Min(max, Max(x, min)): max wins when min exceeds it; NaN stays NaN. `Number` is what comparisons
// are made in, `Value` how it is held.
template <typename Number, typename Value>
void ClipValues(EvalInputs inputs, EvalTensor* output) {
  const auto bound = [&](size_t index) -> std::optional<Number> {
    if (index >= inputs.size() || inputs[index] == nullptr) return std::nullopt;
    return static_cast<Number>(std::get<std::vector<Value>>(inputs[index]->values)[0]);
  };
  const std::optional<Number> min = bound(kMin);
  const std::optional<Number> max = bound(kMax);
  std::vector<Value> values = std::get<std::vector<Value>>(inputs[0]->values);
  for (Value& value : values) {
    if (min.has_value() && static_cast<Number>(value) < *min) value = static_cast<Value>(*min);
    if (max.has_value() && *max < static_cast<Number>(value)) value = static_cast<Value>(*max);
  }
  output->values = std::move(values);
}

absl::Status EvaluateClip(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  if (std::holds_alternative<std::vector<FieldElement>>(inputs[0]->values)) {
    return NoMeaningInField();
  }
  if (IsFloat(call.input_types[0].dtype)) {
    ClipValues<double, double>(inputs, &outputs[0]);
  } else if (call.input_types[0].dtype == DataType::kUint64) {
    ClipValues<uint64_t, int64_t>(inputs, &outputs[0]);
  } else {
    ClipValues<int64_t, int64_t>(inputs, &outputs[0]);
  }
  return absl::OkStatus();
}

// Before opset 11 the bounds are attributes.
absl::Status RaiseBound(absl::string_view name, size_t index, VersionedNode* node) {
  if (!node->attributes.Has(name)) return absl::OkStatus();
  const DataType dtype = node->input_types[0].dtype;
  if (!IsFloat(dtype)) {
    return absl::UnimplementedError("the type of a clipped tensor must be known");
  }
  const double value = node->attributes.Float(name, 0.0f);
  SetConstantInput(node, index, Tensor::FromDoubles(TensorType{dtype, {}}, {value}));
  node->attributes.Erase(name);
  return absl::OkStatus();
}

absl::Status RaiseClip(VersionedNode* node) {
  if (node->opset >= 11) return absl::OkStatus();
  PLAIT_RETURN_IF_ERROR(RaiseBound("min", kMin, node));
  return RaiseBound("max", kMax, node);
}

absl::Status LowerBound(absl::string_view name, size_t index, VersionedNode* node) {
  if (!HasInput(*node, index)) return absl::OkStatus();
  const std::optional<Tensor>& value = node->constants[index];
  if (!value.has_value()) return NeedsOpset("a computed bound", 11);
  node->attributes.Set(name, static_cast<float>(value->AsDoubles()[0]));
  DropInput(node, index);
  return absl::OkStatus();
}

absl::Status LowerClip(VersionedNode* node) {
  if (node->opset < 12 && !IsFloat(node->input_types[0].dtype)) {
    return NeedsOpset("a clip of integers", 12);
  }
  if (node->opset >= 11) return absl::OkStatus();
  PLAIT_RETURN_IF_ERROR(LowerBound("max", kMax, node));
  return LowerBound("min", kMin, node);
}

}  // namespace

// y = min(max(x, low), high); a NaN stays a NaN. The bounds were attributes before opset 11, and
// integers came with 12.
const OpSpec kClipSpec = {
    .kind = OpKind::kClip,
    .inputs = {1, 3},
    .traits = kElementwiseUnary,
    .infer = InferClip,
    .evaluate = EvaluateClip,
    .raise = RaiseClip,
    .lower = LowerClip,
};

}  // namespace plait
