#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include <cudnn.h>

namespace plait::simulated_gpu {

// One engine with its knobs, and what cuDNN notes about it.
struct CudnnEngine {
  int64_t index = 0;
  std::vector<std::pair<cudnnBackendKnobType_t, int64_t>> knobs;
  std::vector<cudnnBackendNumericalNote_t> numerical_notes;
  std::vector<cudnnBackendBehaviorNote_t> behavior_notes;
  int64_t workspace_bytes = 0;
};

}  // namespace plait::simulated_gpu
