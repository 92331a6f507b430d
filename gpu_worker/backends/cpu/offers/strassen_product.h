#pragma once

#include "gpu_worker/backends/cpu/offers/constant_product.h"

namespace plait {

// Whether Strassen's algorithm (see loops/loops.h) can take a product, and may be worth its sums,
// of which each number of both sides has some and saves an eighth of its multiplications. Pure.
bool IsStrassenProduct(const ConstantProduct& product);

}  // namespace plait
