#include <cmath>

#include "base/status_macros.h"
#include "optimizer/ops/shared/channel_planes.h"
#include "optimizer/ops/shared/elementwise.h"
#include "optimizer/ops/shared/global_pool.h"
#include "optimizer/ops/shared/powers.h"

namespace plait {
namespace {

Types InferGlobalLpPool(const OpCall& call) {
  PLAIT_RETURN_IF_ERROR(NormPower(call.attributes).status());
  return InferGlobalPool(call);
}

absl::Status EvaluateGlobalLpPool(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  auto* y = std::get_if<std::vector<double>>(&outputs[0].values);
  if (y == nullptr) return NoMeaningInField();
  const auto& x = std::get<std::vector<double>>(inputs[0]->values);
  PLAIT_ASSIGN_OR_RETURN(const int64_t power, NormPower(call.attributes));
  const auto p = static_cast<double>(power);
  const ChannelPlanes planes(inputs[0]->type);
  for (int64_t i = 0; i < planes.planes; ++i) {
    double sum = 0;
    for (int64_t j = 0; j < planes.elements; ++j) {
      sum += std::pow(std::abs(x[i * planes.elements + j]), p);
    }
    (*y)[i] = std::pow(sum, 1 / p);
  }
  return absl::OkStatus();
}

// A reduction over the spatial axes.
absl::StatusOr<std::vector<TensorId>> ExpandGlobalLpPool(const Node& node, GraphBuilder* builder) {
  PLAIT_ASSIGN_OR_RETURN(const int64_t power, NormPower(*node.attributes));
  Expansion expansion(builder);
  const TensorType type = expansion.type(node.inputs[0]);
  const TensorId x = expansion.Cast(node.inputs[0], WideType(type.dtype));
  std::vector<int64_t> spatial;
  for (int i = 2; i < type.rank(); ++i) spatial.push_back(i);
  const TensorId axes = expansion.Ints(spatial);
  TensorId y = kNoTensor;
  if (power <= 2) {
    y = expansion.Add(power == 1 ? OpKind::kReduceL1 : OpKind::kReduceL2, {x, axes});
  } else {
    const TensorId powers = AddPowers(x, power, &expansion);
    y = AddRoot(expansion.Add(OpKind::kReduceSum, {powers, axes}), power, &expansion);
  }
  return expansion.Outputs({expansion.Cast(y, type.dtype)});
}

}  // namespace

// y[n,c] = the p-th root of the sum of |x[n,c,...]|^p.
const OpSpec kGlobalLpPoolSpec = {
    .kind = OpKind::kGlobalLpPool,
    .infer = InferGlobalLpPool,
    .work = WorkOfGlobalPool,
    .evaluate = EvaluateGlobalLpPool,
    .expand = ExpandGlobalLpPool,
    .expands_at_import = AlwaysExpands,
};

}  // namespace plait
