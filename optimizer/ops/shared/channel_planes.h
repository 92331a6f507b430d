#pragma once

#include <cstdint>

#include "optimizer/ir/tensor_type.h"

namespace plait {

// A tensor [batch, channels, spatial...] seen as planes: plane i is image i / channels, channel
// i % channels, and holds `elements` neighbours. What normalizes or pools by channel walks planes
// and need not know how many spatial axes there are; of rank 2 every element is a plane.
struct ChannelPlanes {
  int64_t channels = 0;
  int64_t planes = 0;
  int64_t elements = 1;

  // REQUIRES: rank >= 2 and IsValidShape(type.shape), so that no product overflows.
  explicit ChannelPlanes(const TensorType& type)
      : channels(type.shape[1]), planes(type.shape[0] * type.shape[1]) {
    for (int i = 2; i < type.rank(); ++i) elements *= type.shape[i];
  }
};

}  // namespace plait
