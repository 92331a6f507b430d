#include <cmath>

#include "base/status_macros.h"
#include "optimizer/ops/shared/elementwise.h"
#include "optimizer/ops/shared/versions.h"

namespace plait {
namespace {

absl::Status EvaluateIsInf(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  const bool negative = call.attributes.Int("detect_negative", 1) != 0;
  const bool positive = call.attributes.Int("detect_positive", 1) != 0;
  const auto* x = std::get_if<std::vector<double>>(&inputs[0]->values);
  if (x == nullptr) return NoMeaningInField();
  auto& y = std::get<std::vector<int64_t>>(outputs[0].values);
  for (size_t i = 0; i < x->size(); ++i) {
    const double value = (*x)[i];
    y[i] = std::isinf(value) && (value < 0 ? negative : positive) ? 1 : 0;
  }
  return absl::OkStatus();
}

absl::Status LowerIsInf(VersionedNode* node) {
  const DataType dtype = node->input_types[0].dtype;
  const bool is_old = dtype == DataType::kFloat32 || dtype == DataType::kFloat64;
  if (node->opset < 20 && !is_old) return NeedsOpset("a form for narrow floats", 20);
  return absl::OkStatus();
}

}  // namespace

// y = whether x is infinite, of one sign or both. Narrow floats came with opset 20.
const OpSpec kIsInfSpec = {
    .kind = OpKind::kIsInf,
    .since_opset = 10,
    .traits = kElementwiseUnary,
    .infer = InferComparisonOf<TypeSet::kFloat>,
    .evaluate = EvaluateIsInf,
    .lower = LowerIsInf,
};

}  // namespace plait
