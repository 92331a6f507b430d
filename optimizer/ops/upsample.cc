#include <algorithm>

#include "base/status_macros.h"
#include "optimizer/ops/shared/expansion.h"
#include "optimizer/ops/shared/op_spec.h"
#include "optimizer/ops/shared/resizing.h"
#include "optimizer/ops/shared/versions.h"

namespace plait {
namespace {

constexpr size_t kScales = 1;

// The same as the newest Resize.
Attributes ResizeAttributes(const Attributes& attributes) {
  return {{"mode", attributes.String("mode", "nearest")},
          {std::string(kCoordinatesAttribute), std::string("asymmetric")},
          {"nearest_mode", std::string("floor")}};
}

// Calls use(call) with the Resize that the call is; its inputs are x, none and the scales.
template <typename Use>
auto AsResize(const OpCall& call, Use use) {
  const Attributes attributes = ResizeAttributes(call.attributes);
  const std::vector<TensorType> types = {call.input_types[0], {}, call.input_types[kScales]};
  const std::vector<const Tensor*> constants = {nullptr, nullptr, call.constant(kScales)};
  return use(OpCall{attributes, types, constants, call.output_count});
}

Types InferUpsample(const OpCall& call) {
  const Tensor* scales = call.constant(kScales);
  if (scales == nullptr) return absl::UnimplementedError("input 1 must be a small constant");
  const std::vector<double> values = scales->AsDoubles();
  if (!std::all_of(values.begin(), values.end(), [](double scale) { return scale >= 1; })) {
    return absl::InvalidArgumentError("scales must not be below 1");
  }
  return AsResize(call, [](const OpCall& resize) { return kResizeSpec.infer(resize); });
}

Work WorkOfUpsample(const OpCall& call, absl::Span<const TensorType> output_types) {
  return AsResize(call,
                  [&](const OpCall& resize) { return kResizeSpec.work(resize, output_types); });
}

absl::Status EvaluateUpsample(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  return AsResize(call, [&](const OpCall& resize) {
    const std::vector<const EvalTensor*> resized = {inputs[0], nullptr, inputs[kScales]};
    return kResizeSpec.evaluate(resize, resized, outputs);
  });
}

absl::StatusOr<std::vector<TensorId>> ExpandUpsample(const Node& node, GraphBuilder* builder) {
  Expansion expansion(builder);
  return expansion.Outputs(
      {expansion.Add(OpKind::kResize, {node.inputs[0], kNoTensor, node.inputs[kScales]},
                     ResizeAttributes(*node.attributes))});
}

// Before opset 9 the scales were an attribute.
absl::Status RaiseUpsample(VersionedNode* node) {
  if (node->opset >= 9) return absl::OkStatus();
  const AttributeValue* scales = node->attributes.Find("scales");
  const auto* values = scales == nullptr ? nullptr : std::get_if<std::vector<float>>(scales);
  if (values == nullptr) return absl::InvalidArgumentError("needs an attribute \"scales\"");
  SetConstantInput(node, kScales,
                   Tensor::Of<float>({static_cast<int64_t>(values->size())}, *values));
  node->attributes.Erase("scales");
  return absl::OkStatus();
}

absl::Status LowerUpsample(VersionedNode* node) {
  if (node->opset >= 9) return absl::OkStatus();
  if (!node->constants[kScales].has_value()) return NeedsOpset("scales as an input", 9);
  const std::vector<double> values = node->constants[kScales]->AsDoubles();
  node->attributes.Set("scales", std::vector<float>(values.begin(), values.end()));
  DropInput(node, kScales);
  return absl::OkStatus();
}

}  // namespace

// What opsets before 10 call a Resize by scales of 1 and more that repeats elements, or
// interpolates from the first one on.
const OpSpec kUpsampleSpec = {
    .kind = OpKind::kUpsample,
    .since_opset = 7,
    .removed_opset = 10,
    .inputs = {2, 2},
    .infer = InferUpsample,
    .work = WorkOfUpsample,
    .evaluate = EvaluateUpsample,
    .raise = RaiseUpsample,
    .lower = LowerUpsample,
    .expand = ExpandUpsample,
    .expands_at_import = AlwaysExpands,
};

}  // namespace plait
