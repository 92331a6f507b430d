#pragma once

#include <vector>

#include "tests/gpu_worker/backends/cuda/generated/emulation/generated_cases.h"

namespace plait::simulated_gpu {

// Seeded problems with odd shapes for every generated family. Equal on every machine.
std::vector<cuda::GeneratedCase> OddCases();

// The cases that the families' authors thought of, and behind them the odd ones.
std::vector<cuda::GeneratedCase> AllCases();

}  // namespace plait::simulated_gpu
