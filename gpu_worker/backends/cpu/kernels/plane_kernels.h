#pragma once

#include "gpu_worker/backends/cpu/kernels/plane_layer.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"

namespace plait {

// Reads the kernel's ends for a layer: DigitLayer::Load and others like it.
using LoadPlaneLayer = absl::StatusOr<std::unique_ptr<PlaneLayer>> (*)(LoadContext* context,
                                                                       Format format,
                                                                       int64_t columns);

// MatMul and Gemm by a constant matrix, in planes, of a family that offers them.
// Errors: InvalidArgument (LoadContext::Refuse) for what it does not offer; those of the layer.
absl::StatusOr<std::unique_ptr<CpuKernel>> LoadProductInPlanes(LoadContext* context,
                                                               const FamilyOffer& offer,
                                                               LoadPlaneLayer load_layer);

// The same of convolutions of images in channels-last.
absl::StatusOr<std::unique_ptr<CpuKernel>> LoadConvolutionInPlanes(LoadContext* context,
                                                                   const FamilyOffer& offer,
                                                                   LoadPlaneLayer load_layer);

}  // namespace plait
