#pragma once

#include <memory>

#include "gpu_worker/backends/cpu/run/kernel.h"

namespace plait {

// The kernels of integer_conv for images in channels-last.
// Errors: those of ReadIntegerConvolution.
absl::StatusOr<std::unique_ptr<CpuKernel>> LoadIntegerConvPixels(LoadContext* context,
                                                                 const Node& node);

}  // namespace plait
