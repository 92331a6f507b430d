#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ops/shared/expansion.h"
#include "optimizer/ops/shared/op_spec.h"
#include "optimizer/ops/shared/type_set.h"

namespace plait {
namespace {

constexpr double kInverseRootTwo = 0.70710678118654752440;
constexpr double kRootTwoOverPi = 0.79788456080286535588;
// The cubic term's factor in the tanh form (Hendrycks and Gimpel, 2016, section 2).
constexpr double kTanhCubicFactor = 0.044715;

bool UsesTanh(const Attributes& attributes) {
  return attributes.String("approximate", "none") == "tanh";
}

Types InferGelu(const OpCall& call) {
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, 0, TypeSet::kFloat));
  const std::string approximate = call.attributes.String("approximate", "none");
  if (approximate != "none" && approximate != "tanh") {
    return absl::InvalidArgumentError(
        absl::StrCat("approximate must be none or tanh, is ", approximate));
  }
  return std::vector<TensorType>{call.input_types[0]};
}

absl::Status EvaluateGelu(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  auto* y = std::get_if<std::vector<double>>(&outputs[0].values);
  if (y == nullptr) return absl::UnimplementedError("a field has no erf or tanh");
  const auto& x = std::get<std::vector<double>>(inputs[0]->values);
  const bool uses_tanh = UsesTanh(call.attributes);
  for (size_t i = 0; i < x.size(); ++i) {
    const double gate =
        uses_tanh ? std::tanh(kRootTwoOverPi * (x[i] + kTanhCubicFactor * x[i] * x[i] * x[i]))
                  : std::erf(x[i] * kInverseRootTwo);
    (*y)[i] = 0.5 * x[i] * (1 + gate);
  }
  return absl::OkStatus();
}

// As models before opset 20 write it.
absl::StatusOr<std::vector<TensorId>> ExpandGelu(const Node& node, GraphBuilder* builder) {
  Expansion expansion(builder);
  const TensorId x = node.inputs[0];
  const DataType dtype = expansion.type(x).dtype;
  const auto add = [&](TensorId a, TensorId b) { return expansion.Add(OpKind::kAdd, {a, b}); };
  const auto multiply = [&](TensorId a, TensorId b) { return expansion.Add(OpKind::kMul, {a, b}); };
  TensorId gate = kNoTensor;
  if (UsesTanh(*node.attributes)) {
    const TensorId cube = multiply(multiply(x, x), x);
    const TensorId sum = add(x, multiply(cube, expansion.Scalar(dtype, kTanhCubicFactor)));
    gate = expansion.Add(OpKind::kTanh, {multiply(sum, expansion.Scalar(dtype, kRootTwoOverPi))});
  } else {
    gate = expansion.Add(OpKind::kErf, {multiply(x, expansion.Scalar(dtype, kInverseRootTwo))});
  }
  const TensorId half = multiply(x, expansion.Scalar(dtype, 0.5));
  return expansion.Outputs({multiply(half, add(gate, expansion.Scalar(dtype, 1)))});
}

}  // namespace

// y = x/2 * (1 + erf(x / sqrt(2))), or with tanh(sqrt(2/pi) * (x + 0.044715 x^3)) in erf's place.
const OpSpec kGeluSpec = {
    .kind = OpKind::kGelu,
    .since_opset = 20,
    .traits = kElementwiseUnary,
    .infer = InferGelu,
    .evaluate = EvaluateGelu,
    .expand = ExpandGelu,
};

}  // namespace plait
