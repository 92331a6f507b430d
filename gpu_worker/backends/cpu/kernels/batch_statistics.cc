#include "gpu_worker/backends/cpu/kernels/batch_statistics.h"

#include <cmath>

#include "base/status_macros.h"

namespace plait {

absl::StatusOr<BatchStatistics> LoadBatchStatistics(LoadContext* context, const Node& node) {
  std::vector<double> values[4];
  for (int i = 0; i < 4; ++i) {
    PLAIT_ASSIGN_OR_RETURN(const Tensor tensor, context->ConstantValue(node.inputs[i + 1]));
    values[i] = tensor.AsDoubles();
  }
  const auto& [gamma, beta, mean, variance] = values;
  const double epsilon = node.attributes->Float("epsilon", 1e-5f);
  BatchStatistics statistics{.channels = static_cast<int64_t>(gamma.size())};
  const Fingerprint form = FingerprintBuilder().Add("statistics").Finish();
  PLAIT_ASSIGN_OR_RETURN(const SharingExecutable::Place place,
                         context->AllocatePacked(statistics.channels * 2 * sizeof(float), form));
  statistics.scale = reinterpret_cast<float*>(place.data);
  statistics.shift = statistics.scale + statistics.channels;
  if (place.is_packed) return statistics;
  for (size_t i = 0; i < gamma.size(); ++i) {
    const double factor = gamma[i] / std::sqrt(variance[i] + epsilon);
    statistics.scale[i] = static_cast<float>(factor);
    statistics.shift[i] = static_cast<float>(beta[i] - mean[i] * factor);
  }
  return statistics;
}

}  // namespace plait
