#pragma once

#include <vector>

#include <cudnn.h>

#include "gpu_worker/backends/cuda/cudnn/descriptor.h"
#include "gpu_worker/backends/cuda/cudnn/graph.h"
#include "gpu_worker/backends/cuda/cudnn/library.h"
#include "gpu_worker/backends/cuda/problem/candidate.h"

namespace plait::cuda {

// A CudnnGraph as cuDNN's descriptors. Owns all of them; engines and plans refer to them.
// Movable, as the descriptors behind it do not move.
struct CudnnOperationGraph {
  std::vector<CudnnDescriptor> parts;  // tensors, operations and their parameters
  // Destroyed before its parts, being the later member.
  CudnnDescriptor graph;
};

// What cuDNN is promised of a tensor's address: what `alignment` says of its operand, and 16 at
// most, which is all that vectors want.
int64_t CudnnAlignmentBytes(const CudnnTensor& tensor, const OperandAlignment& alignment);

// Makes the descriptors of `graph`. `handle` is null when there is no device.
// Each tensor promises what CudnnAlignmentBytes() says. All sums and pointwise operations are asked
// for in fp32. Nothing is compiled here, and no engine is chosen. `graph` is read and not kept.
// Errors: kInvalid and kUnsupported, as cuDNN judges the operations and their combination.
Result<CudnnOperationGraph> LowerCudnnGraph(const CudnnLibrary& library, const CudnnGraph& graph,
                                            const OperandAlignment& alignment,
                                            cudnnHandle_t handle);

}  // namespace plait::cuda
