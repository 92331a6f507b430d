#pragma once

#include <vector>

#include "tests/gpu_worker/backends/cuda/generated/emulation/generated_cases.h"

namespace plait::simulated_gpu {

// Seeded problems with odd shapes for every generated family, beside the cases that the families'
// authors thought of. Equal on every machine.
std::vector<cuda::GeneratedCase> OddCases();

}  // namespace plait::simulated_gpu
