#pragma once

#include <string>

#include "gpu_worker/backends/cuda/cudnn/library.h"

namespace plait::simulated_gpu {

// cuDNN itself, which judges operation graphs and lists engines for a device that is only
// described; nothing is run by it. From the toolkit's folder by its path, and where this code is
// itself a library that goes by cuDNN's name, in a link namespace of its own, so that neither sees
// the other. Null where it is missing. Opened by the first call; thread-safe.
const cuda::CudnnLibrary* RealCudnn();

// The driver that cuDNN finds: without one it lists no engines that are compiled at run time. Only
// for programs that are not a libcuda.so.1 themselves, before RealCudnn().
void UseDriverForEngineLists(std::string path);

}  // namespace plait::simulated_gpu
