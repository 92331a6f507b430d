#pragma once

#include "gpu_worker/backends/cpu/offers/constant_product.h"
#include "gpu_worker/backends/cpu/run/kernel.h"

namespace plait {

// Loads the kernel's first node as `product` and the others as its epilogue, in fp32 (see
// fma_product.h). Source and result lie in `format`, in which their rows lie beside each other.
// Errors: InvalidArgument (LoadContext::Refuse) for another epilogue or format.
absl::StatusOr<std::unique_ptr<CpuKernel>> LoadFmaKernel(LoadContext* context,
                                                         const ConstantProduct& product,
                                                         Format format);

}  // namespace plait
