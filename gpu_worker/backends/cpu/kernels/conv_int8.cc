#include "gpu_worker/backends/cpu/kernels/digit_layer.h"
#include "gpu_worker/backends/cpu/kernels/plane_kernels.h"

namespace plait {

// Convolutions of images in channels-last, in digits on AMX.
absl::StatusOr<std::unique_ptr<CpuKernel>> LoadConvInt8(LoadContext* context) {
  return LoadConvolutionInPlanes(context, kConvInt8Offer, DigitLayer::Load);
}

}  // namespace plait
