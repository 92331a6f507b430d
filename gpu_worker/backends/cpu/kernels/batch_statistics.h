#pragma once

#include "gpu_worker/backends/cpu/run/kernel.h"

namespace plait {

// Batch normalization with constant statistics: x * scale + shift, with one of each per channel.
struct BatchStatistics {
  float* scale = nullptr;
  float* shift = nullptr;
  int64_t channels = 0;
};

// Of a BatchNormalization for which IsElementwise holds. Computed in double, once, and kept among
// the weights.
// Errors: those of ConstantValue; ResourceExhausted.
absl::StatusOr<BatchStatistics> LoadBatchStatistics(LoadContext* context, const Node& node);

}  // namespace plait
