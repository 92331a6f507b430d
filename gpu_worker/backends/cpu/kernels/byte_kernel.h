#pragma once

#include <memory>

#include "gpu_worker/backends/cpu/kernels/byte_weights.h"

namespace plait {

// The kernel of a convolution in channels-last, or of a product, by the loops over bytes: of
// ConvInteger, QLinearConv, MatMulInteger and QLinearMatMul. `values` are its weights, [M, C/g,
// ...].
// nullptr where the processor has no such loops, or the layer does not suit them: in groups of
// several channels, or with weights that are no bytes less their zero points.
// Errors: ResourceExhausted.
absl::StatusOr<std::unique_ptr<CpuKernel>> MakeByteKernel(LoadContext* context, const Node& node,
                                                          ByteLayer layer, const Tensor& values);

}  // namespace plait
