#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "gpu_worker/simulated_gpu/device_memory.h"
#include "gpu_worker/simulated_gpu/touches.h"

namespace plait::simulated_gpu {

// What a stand-in touches: an operand, a result or the workspace each.
using TouchedParts = std::vector<Touches>;

Touches Joined(const TouchedParts& parts);

// Errors: kAborted where results or the workspace lie over operands or one another, as a library's
// blocks run in any order.
absl::Status CheckApart(const TouchedParts& parts, DeviceMemory* memory);

// A workspace after a library has used it: all of it written, with what is no number.
absl::Status SpoilWorkspace(uint64_t address, uint64_t bytes, DeviceMemory* memory);

}  // namespace plait::simulated_gpu
