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
  for (float** const floats : {&statistics.scale, &statistics.shift}) {
    PLAIT_ASSIGN_OR_RETURN(std::byte* const data,
                           context->AllocateWeights(statistics.channels * 4));
    *floats = reinterpret_cast<float*>(data);
  }
  for (size_t i = 0; i < gamma.size(); ++i) {
    const double factor = gamma[i] / std::sqrt(variance[i] + epsilon);
    statistics.scale[i] = static_cast<float>(factor);
    statistics.shift[i] = static_cast<float>(beta[i] - mean[i] * factor);
  }
  return statistics;
}

}  // namespace plait
