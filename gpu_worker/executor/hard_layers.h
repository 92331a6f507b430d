#pragma once

#include <cstdint>

#include "gpu_worker/executor/layer_operands.h"

// Inputs and weights that are hard for kernels which compute in other numbers than fp32: digits of
// a common scale lose small values beside a large one, and sums of large parts lose what is left
// when they cancel. Pure.
namespace plait {

// The values moved by 100: nearly equal, and far from zero. REQUIRES: float32.
Tensor AroundHundred(const Tensor& values);

// The values with a 10,000 at one element.
// REQUIRES: float32, and it has the element.
Tensor WithOutlier(const Tensor& values, int64_t element);

// The layer's weights with each second one along the sum
// exchanged for the opposite of the one before: with inputs that are nearly equal, large parts add
// up to almost nothing. A last one without a partner becomes 0.
// REQUIRES: `weights` are a value of the layer's second input.
Tensor Cancelling(const LayerOperands& layer, const Tensor& weights);

}  // namespace plait
