#pragma once

#include <memory>

#include "gpu_worker/backends/cpu/kernels/attention_matrices.h"
#include "gpu_worker/backends/cpu/run/kernel.h"

namespace plait {

// Attention of so few queries, a decoder's, that packing keys and values would cost more than the
// products: both are read where they lie, and once for all heads that share them.

// Whether that is the faster way, and keys and values lie so: rows or columns of each have adjacent
// elements.
bool HasFewQueries(const AttentionMatrices& matrices);

// Errors: ResourceExhausted. REQUIRES: HasFewQueries.
absl::StatusOr<std::unique_ptr<CpuKernel>> LoadFewQueries(LoadContext* context,
                                                          AttentionMatrices matrices);

}  // namespace plait
