#pragma once

#include <vector>

#include "tests/gpu_worker/backends/cuda/generated/emulation/generated_cases.h"

namespace plait::simulated_gpu {

// The cases that the families' authors thought of, and behind them seeded problems with odd shapes
// for every generated family. Equal on every machine.
std::vector<cuda::GeneratedCase> AllCases();

}  // namespace plait::simulated_gpu
