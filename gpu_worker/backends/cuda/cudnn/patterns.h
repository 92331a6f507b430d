#pragma once

#include <optional>

#include "gpu_worker/backends/cuda/cudnn/graph.h"
#include "gpu_worker/backends/cuda/problem/problem.h"

namespace plait::cuda {

// The graph by which cuDNN is asked for a problem, in the form for which it has the most and the
// fastest engines. Nothing when cuDNN has no such pattern.
// Which form has engines was tried for compute capability 9.0 with cuDNN 9.19, heuristic A, batch
// 1:
//   conv (+ bias + relu)             28 to 40 engines, precompiled
//   conv + residual + bias + relu    28 to 37, precompiled; with the bias first 3 or 4, compiled at
//                                    run time
//   matmul with epilogue             2, with tensor cores only
//   attention                        2 to 4, compiled at run time
//   layer norm                       1 to 3, compiled at run time
// These are counts, not times.
// Of images that are parts of others only convolutions are asked for: cuDNN 9.19 lists the engines
// of dense ones where a residual lies as the output does, and none that is compiled already where
// it does not. What is left moves memory, and is a generated kernel's.
// REQUIRES: ShapeOf() accepts it; pitches are of images in channels-last.
std::optional<CudnnGraph> BuildCudnnGraph(const Problem& problem, Precision precision,
                                          MemoryLayout layout, const OperandPitches& pitches = {});

// The patterns of single problems, in the files named after them.
// Pure: nothing here calls cuDNN, so the forms can be tested as text (CudnnGraph::Pattern).
CudnnGraph BuildCudnnConv(const ConvProblem& problem, cudnnDataType_t storage, MemoryLayout layout);
CudnnGraph BuildCudnnMatmul(const GemmProblem& problem, cudnnDataType_t storage);
CudnnGraph BuildCudnnAttention(const AttentionProblem& problem, cudnnDataType_t storage);
CudnnGraph BuildCudnnScaleShift(const ScaleShiftProblem& problem, cudnnDataType_t storage,
                                MemoryLayout layout);
// Nothing for what one cuDNN operation cannot compute exactly as problem.h has it.
std::optional<CudnnGraph> BuildCudnnPool(const PoolProblem& problem, cudnnDataType_t storage,
                                         MemoryLayout layout);
std::optional<CudnnGraph> BuildCudnnRows(const RowsProblem& problem, cudnnDataType_t storage);

}  // namespace plait::cuda
