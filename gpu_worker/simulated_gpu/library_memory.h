#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "gpu_worker/simulated_gpu/device_memory.h"
#include "gpu_worker/simulated_gpu/touches.h"

namespace plait::simulated_gpu {

// Errors: kAborted where results lie over operands, as a library's blocks run in any order.
absl::Status CheckApart(const Touches& touches, DeviceMemory* memory);

// A workspace after a library has used it: all of it written, with what is no number.
absl::Status SpoilWorkspace(uint64_t address, uint64_t bytes, DeviceMemory* memory);

}  // namespace plait::simulated_gpu
