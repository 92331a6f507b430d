#include "gpu_worker/backends/cpu/kernels/bf16_layer.h"
#include "gpu_worker/backends/cpu/kernels/plane_kernels.h"

namespace plait {

// MatMul and Gemm by a constant matrix, in planes of bf16 on AMX.
absl::StatusOr<std::unique_ptr<CpuKernel>> LoadMatmulBf16(LoadContext* context) {
  return LoadProductInPlanes(context, kMatmulBf16Offer, Bf16Layer::Load);
}

}  // namespace plait
