#include "gpu_worker/backends/cpu/kernels/digit_layer.h"
#include "gpu_worker/backends/cpu/kernels/plane_kernels.h"

namespace plait {

// MatMul and Gemm by a constant matrix, in digits on AMX.
absl::StatusOr<std::unique_ptr<CpuKernel>> LoadMatmulInt8(LoadContext* context) {
  return LoadProductInPlanes(context, kMatmulInt8Offer, DigitLayer::Load);
}

}  // namespace plait
