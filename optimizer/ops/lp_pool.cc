#include <algorithm>
#include <cmath>
#include <utility>

#include "base/status_macros.h"
#include "optimizer/ops/shared/elementwise.h"
#include "optimizer/ops/shared/powers.h"
#include "optimizer/ops/shared/versions.h"
#include "optimizer/ops/shared/window_pool.h"

namespace plait {
namespace {

Types InferLpPool(const OpCall& call) {
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, 0, TypeSet::kFloat));
  PLAIT_RETURN_IF_ERROR(NormPower(call.attributes).status());
  PLAIT_ASSIGN_OR_RETURN(const std::vector<WindowAxis> window, ReadPoolWindow(call));
  PLAIT_ASSIGN_OR_RETURN(TensorType type, PooledType(call, window));
  return std::vector<TensorType>{std::move(type)};
}

absl::Status EvaluateLpPool(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  auto* y = std::get_if<std::vector<double>>(&outputs[0].values);
  if (y == nullptr) return NoMeaningInField();
  if (y->empty()) return absl::OkStatus();
  const auto& x = std::get<std::vector<double>>(inputs[0]->values);
  PLAIT_ASSIGN_OR_RETURN(const std::vector<WindowAxis> window, ReadPoolWindow(call));
  PLAIT_ASSIGN_OR_RETURN(const int64_t power, NormPower(call.attributes));
  const std::vector<WindowAxis> axes = ThreeAxes(window);
  const int64_t from = axes[0].input * axes[1].input * axes[2].input;
  const int64_t to = axes[0].output * axes[1].output * axes[2].output;
  const auto p = static_cast<double>(power);
  for (int64_t channel = 0; channel * from < static_cast<int64_t>(x.size()); ++channel) {
    ForEachWindowElement(axes, [&](int64_t index, int64_t position) {
      (*y)[channel * to + index] += std::pow(std::abs(x[channel * from + position]), p);
    });
  }
  for (double& value : *y) value = std::pow(value, 1 / p);
  return absl::OkStatus();
}

bool IsDilated(const Attributes& attributes) {
  const std::vector<int64_t> dilations = attributes.Ints("dilations");
  return std::any_of(dilations.begin(), dilations.end(), [](int64_t value) { return value != 1; });
}

// The root of an AveragePool of powers, whose padding counts, times the window's elements.
absl::StatusOr<std::vector<TensorId>> ExpandLpPool(const Node& node, GraphBuilder* builder) {
  const Attributes& attributes = *node.attributes;
  if (IsDilated(attributes) || attributes.Int("ceil_mode", 0) != 0) {
    return absl::UnimplementedError("needs windows that an AveragePool counts alike");
  }
  PLAIT_ASSIGN_OR_RETURN(const int64_t power, NormPower(attributes));
  Expansion expansion(builder);
  const DataType dtype = expansion.type(node.inputs[0]).dtype;
  const DataType wide = WideType(dtype);
  double elements = 1;
  for (const int64_t extent : attributes.Ints("kernel_shape")) {
    elements *= static_cast<double>(extent);
  }
  Attributes pool = attributes;
  pool.Erase("p");
  pool.Erase("dilations");
  pool.Set("count_include_pad", int64_t{1});
  const TensorId powers = AddPowers(expansion.Cast(node.inputs[0], wide), power, &expansion);
  const TensorId mean = expansion.Add(OpKind::kAveragePool, {powers}, std::move(pool));
  const TensorId sum = expansion.Add(OpKind::kMul, {mean, expansion.Scalar(wide, elements)});
  return expansion.Outputs({expansion.Cast(AddRoot(sum, power, &expansion), dtype)});
}

bool ExpandsLpPoolAtImport(const OpCall& call) {
  return !IsDilated(call.attributes) && call.attributes.Int("ceil_mode", 0) == 0 &&
         call.input_types[0].elements() > 0;
}

// Both attributes came with opset 18.
absl::Status LowerLpPool(VersionedNode* node) {
  if (node->opset >= 18) return absl::OkStatus();
  if (IsDilated(node->attributes)) return NeedsOpset("a dilated window", 18);
  if (node->attributes.Int("ceil_mode", 0) != 0) return NeedsOpset("ceil_mode", 18);
  node->attributes.Erase("dilations");
  node->attributes.Erase("ceil_mode");
  return absl::OkStatus();
}

}  // namespace

// y[o] = the p-th root of the sum of |x|^p over the window, whose padding counts as zeros.
const OpSpec kLpPoolSpec = {
    .kind = OpKind::kLpPool,
    .infer = InferLpPool,
    .work = WorkOfPool,
    .evaluate = EvaluateLpPool,
    .raise = RaiseAutoPad,
    .lower = LowerLpPool,
    .expand = ExpandLpPool,
    .expands_at_import = ExpandsLpPoolAtImport,
};

}  // namespace plait
