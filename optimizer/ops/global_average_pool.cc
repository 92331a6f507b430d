#include "optimizer/ops/shared/channel_planes.h"
#include "optimizer/ops/shared/global_pool.h"
#include "optimizer/ops/shared/quotient.h"

namespace plait {
namespace {

template <typename T>
void Average(const EvalTensor& input, std::vector<T>* output) {
  const auto& x = std::get<std::vector<T>>(input.values);
  const ChannelPlanes planes(input.type);
  for (int64_t i = 0; i < planes.planes; ++i) {
    T sum = T(0);
    for (int64_t j = 0; j < planes.elements; ++j) sum = sum + x[i * planes.elements + j];
    (*output)[i] = Quotient(sum, planes.elements);
  }
}

absl::Status EvaluateGlobalAveragePool(const OpCall&, absl::Span<const EvalTensor* const> inputs,
                                       absl::Span<EvalTensor> outputs) {
  std::visit([&](auto& output) { Average(*inputs[0], &output); }, outputs[0].values);
  return absl::OkStatus();
}

}  // namespace

// The mean of each channel.
const OpSpec kGlobalAveragePoolSpec = {
    .kind = OpKind::kGlobalAveragePool,
    .since_opset = 1,
    .inputs_min = 1,
    .inputs_max = 1,
    .outputs_min = 1,
    .outputs_max = 1,
    .infer = InferGlobalPool,
    .work = WorkOfGlobalPool,
    .evaluate = EvaluateGlobalAveragePool,
};

}  // namespace plait
