#pragma once

#include <vector>

#include "tests/gpu_worker/backends/cuda/generated/emulation/generated_cases.h"

namespace plait::simulated_gpu {

// Seeded problems with odd shapes for every generated family. Equal on every machine.
std::vector<cuda::GeneratedCase> OddCases();

// The cases that the families' authors thought of, and behind them the odd ones.
std::vector<cuda::GeneratedCase> AllCases();

// Those whose kernels are given faults: so large that there is a second block, a second round of
// each loop, and a rest behind the last whole one.
std::vector<cuda::GeneratedCase> MutatedCases();

}  // namespace plait::simulated_gpu
