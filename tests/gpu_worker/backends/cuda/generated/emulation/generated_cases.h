#pragma once

#include <string>
#include <vector>

#include "gpu_worker/backends/cuda/problem/problem.h"

namespace plait::cuda {

// Small problems with awkward sizes, at least two for each generated family.
struct GeneratedCase {
  std::string name;
  Problem problem;
};

std::vector<GeneratedCase> GeneratedCases();

}  // namespace plait::cuda
