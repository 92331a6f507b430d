#pragma once

#include <vector>

#include <cudnn.h>

#include "gpu_worker/backends/cuda/cudnn/descriptor.h"
#include "gpu_worker/backends/cuda/cudnn/graph.h"
#include "gpu_worker/backends/cuda/cudnn/library.h"

namespace plait::cuda {

// A CudnnGraph as cuDNN's descriptors. Owns all of them; engines and plans refer to them.
struct CudnnOperationGraph {
  std::vector<CudnnDescriptor> parts;  // tensors, operations and their parameters
  CudnnDescriptor graph;
};

// Makes the descriptors of `graph`. `handle` is null when there is no device.
// Errors: kInvalid and kUnsupported, as cuDNN judges the operations and their combination.
Result<CudnnOperationGraph> LowerCudnnGraph(const CudnnLibrary& library, const CudnnGraph& graph,
                                            cudnnHandle_t handle);

}  // namespace plait::cuda
