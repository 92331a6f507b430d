#pragma once

#include <functional>
#include <string>
#include <vector>

#include "gpu_worker/backends/cuda/cudnn/library.h"

namespace plait::simulated_gpu {

// A wrong use of cuDNN's backend interface that needs no device: `make` returns what the library
// says to the last call, the one that is wrong. Some would end the process, as cuDNN reads what is
// not there.
struct CudnnMistake {
  std::string name;
  std::function<cudnnStatus_t(const cuda::CudnnLibrary& library)> make;
  bool ends_cudnn = false;
};

// Attributes of wrong types and numbers, ones that are missing, descriptors that are not finalized,
// of another type or gone, sizes that do not fit.
std::vector<CudnnMistake> CudnnMistakes();

}  // namespace plait::simulated_gpu
