#pragma once

#include <cstdint>

#include "optimizer/kernels/lone_kernel.h"

namespace plait {

// What a kernel computes and moves: every input, output and constant once, and no more than its
// nodes move one by one: views move nothing, and a Gather reads a few rows of its table. Each takes
// as many bytes as it has in its format, and constants lie as the first output does.
struct KernelWork {
  int64_t flops = 0;
  int64_t weight_bytes = 0;
  int64_t value_bytes = 0;

  int64_t bytes() const { return weight_bytes + value_bytes; }
};

// Pure. What a kernel has no format for counts as row-major.
KernelWork WorkOfKernel(const LoneKernel& lone);

}  // namespace plait
