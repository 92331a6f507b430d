#pragma once

#include <optional>

#include "gpu_worker/backends/cuda/cudnn/graph.h"
#include "gpu_worker/backends/cuda/problem/problem.h"

namespace plait::cuda {

// The graph by which cuDNN is asked for a problem, in the form for which it has the most and the
// fastest engines. Nothing when cuDNN has no such pattern. REQUIRES: ShapeOf() accepts it.
std::optional<CudnnGraph> BuildCudnnGraph(const Problem& problem, Precision precision,
                                          MemoryLayout layout);

// The patterns of single problems, in the files named after them.
CudnnGraph BuildCudnnConv(const ConvProblem& problem, cudnnDataType_t storage, MemoryLayout layout);
CudnnGraph BuildCudnnMatmul(const GemmProblem& problem, cudnnDataType_t storage);
CudnnGraph BuildCudnnAttention(const AttentionProblem& problem, cudnnDataType_t storage);
CudnnGraph BuildCudnnScaleShift(const ScaleShiftProblem& problem, cudnnDataType_t storage,
                                MemoryLayout layout);
std::optional<CudnnGraph> BuildCudnnPool(const PoolProblem& problem, cudnnDataType_t storage,
                                         MemoryLayout layout);
std::optional<CudnnGraph> BuildCudnnRows(const RowsProblem& problem, cudnnDataType_t storage);

}  // namespace plait::cuda
