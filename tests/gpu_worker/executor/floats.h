#pragma once

#include <vector>

#include "optimizer/ir/tensor.h"

namespace plait {

// A vector.
inline Tensor Floats(const std::vector<float>& values) {
  return Tensor::Of<float>({static_cast<int64_t>(values.size())}, values);
}

}  // namespace plait
