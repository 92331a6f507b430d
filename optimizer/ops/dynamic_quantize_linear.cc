#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ops/shared/op_spec.h"
#include "optimizer/ops/shared/quantization.h"
#include "optimizer/ops/shared/type_set.h"

namespace plait {
namespace {

Types InferDynamicQuantizeLinear(const OpCall& call) {
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, 0, TypeSet::kFloat));
  if (call.input_types[0].dtype != DataType::kFloat32) {
    return absl::InvalidArgumentError(
        absl::StrCat("input 0 must be float32, is ", call.input_types[0].ToString()));
  }
  std::vector<TensorType> types = {{DataType::kUint8, call.input_types[0].shape},
                                   {DataType::kFloat32, {}},
                                   {DataType::kUint8, {}}};
  types.resize(static_cast<size_t>(call.output_count));
  return types;
}

Work WorkOfDynamicQuantizeLinear(const OpCall& call, absl::Span<const TensorType> output_types) {
  Work work = DefaultWork(call, output_types);
  // Both ends of the range, the quotient and the sum with the zero point.
  work.flops = 4 * call.input_types[0].elements();
  return work;
}

// In float32 throughout, as it is defined. Zeros alone have any scale: they have 1 here.
absl::Status EvaluateDynamicQuantizeLinear(const OpCall&, EvalInputs inputs, EvalOutputs outputs) {
  const auto* const x = std::get_if<std::vector<double>>(&inputs[0]->values);
  if (x == nullptr) return absl::UnimplementedError("a field has no order");
  float lowest = 0;
  float highest = 0;
  for (const double value : *x) {
    lowest = std::min(lowest, static_cast<float>(value));
    highest = std::max(highest, static_cast<float>(value));
  }
  const float scale = lowest == highest ? 1.0f : (highest - lowest) / 255.0f;
  const int64_t zero_point = Quantized((0 - lowest) / scale, 0, IntegerRange());
  auto& y = std::get<std::vector<int64_t>>(outputs[0].values);
  for (size_t i = 0; i < y.size(); ++i) {
    y[i] = Quantized(static_cast<float>((*x)[i]) / scale, zero_point, IntegerRange());
  }
  if (outputs.size() > 1) std::get<std::vector<double>>(outputs[1].values)[0] = scale;
  if (outputs.size() > 2) std::get<std::vector<int64_t>>(outputs[2].values)[0] = zero_point;
  return absl::OkStatus();
}

}  // namespace

// y = saturate(round(x / scale) + zero point), where both are such that 0 and all of x have
// integers of 8 bits, and 0 an exact one.
const OpSpec kDynamicQuantizeLinearSpec = {
    .kind = OpKind::kDynamicQuantizeLinear,
    .since_opset = 11,
    .outputs = {1, 3},
    .infer = InferDynamicQuantizeLinear,
    .work = WorkOfDynamicQuantizeLinear,
    .evaluate = EvaluateDynamicQuantizeLinear,
};

}  // namespace plait
