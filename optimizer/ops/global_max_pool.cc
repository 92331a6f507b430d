#include <algorithm>

#include "optimizer/ops/shared/channel_planes.h"
#include "optimizer/ops/shared/global_pool.h"

namespace plait {
namespace {

absl::Status EvaluateGlobalMaxPool(const OpCall&, EvalInputs inputs, EvalOutputs outputs) {
  const auto* x = std::get_if<std::vector<double>>(&inputs[0]->values);
  if (x == nullptr) return absl::UnimplementedError("a field has no order");
  auto& y = std::get<std::vector<double>>(outputs[0].values);
  const ChannelPlanes planes(inputs[0]->type);
  for (int64_t i = 0; i < planes.planes; ++i) {
    const auto first = x->begin() + i * planes.elements;
    y[i] = *std::max_element(first, first + planes.elements);
  }
  return absl::OkStatus();
}

}  // namespace

// y[n,c] = the largest element of x[n,c,...].
const OpSpec kGlobalMaxPoolSpec = {
    .kind = OpKind::kGlobalMaxPool,
    .infer = InferGlobalPool,
    .work = WorkOfGlobalPool,
    .evaluate = EvaluateGlobalMaxPool,
};

}  // namespace plait
