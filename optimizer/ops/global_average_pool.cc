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

absl::Status EvaluateGlobalAveragePool(const OpCall&, EvalInputs inputs, EvalOutputs outputs) {
  std::visit([&](auto& output) { Average(*inputs[0], &output); }, outputs[0].values);
  return absl::OkStatus();
}

}  // namespace

// y[n,c] = the mean of x[n,c,...]; in GF(p) exactly, so that it is linear there too.
const OpSpec kGlobalAveragePoolSpec = {
    .kind = OpKind::kGlobalAveragePool,
    .infer = InferGlobalPool,
    .work = WorkOfGlobalPool,
    .evaluate = EvaluateGlobalAveragePool,
};

}  // namespace plait
