#include "gpu_worker/backends/cpu/kernels/bf16_layer.h"
#include "gpu_worker/backends/cpu/kernels/plane_kernels.h"

namespace plait {

// Convolutions of images in channels-last, in planes of bf16 on AMX.
absl::StatusOr<std::unique_ptr<CpuKernel>> LoadConvBf16(LoadContext* context) {
  return LoadConvolutionInPlanes(context, kConvBf16Offer, Bf16Layer::Load);
}

}  // namespace plait
