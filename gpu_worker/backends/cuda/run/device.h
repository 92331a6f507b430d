#pragma once

#include <cstdint>

#include "gpu_worker/backends/cuda/driver/runtime.h"
#include "optimizer/kernels/device.h"

namespace plait::cuda {

// The versions of what is opened beside the driver, as it says them itself; empty where it is not
// there.
struct LibraryVersions {
  std::string cudnn;
  std::string cublaslt;
  std::string nvrtc;
};

// Of the libraries that this process finds.
LibraryVersions FindLibraryVersions();

// A GPU as the search needs to know it. Its fingerprint names all that times depend on but the
// kernels' code: the GPU, its architecture and size, the driver and the libraries; and of a
// simulated one that it is simulated. What graphs cost on it is that of the described device by
// which a simulated one is timed; of any other it is not known yet (GraphCosts), and the memory's
// rate is a share of what its clock and width allow.
// `memory_bytes_max` 0: all that it has. Pure.
DeviceDescription DescribeGpu(int index, const DeviceFacts& facts, const LibraryVersions& versions,
                              bool is_simulated, int64_t memory_bytes_max);

}  // namespace plait::cuda
