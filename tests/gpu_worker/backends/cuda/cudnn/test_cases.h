#pragma once

#include <string>
#include <vector>

#include "gpu_worker/backends/cuda/problem/problem.h"

namespace plait::cuda {

// A problem that stands for a pattern which cuDNN knows or does not know.
struct CudnnCase {
  std::string name;
  Problem problem;
};

// One problem per pattern: convolutions with every kind of epilogue, grouped and depthwise ones,
// matrix products, attention, pooling, rows, scale and shift.
std::vector<CudnnCase> CudnnCases();

// The case with this name. REQUIRES: there is one.
Problem CudnnCaseProblem(const std::string& name);

// Puts a driver library without a device into the process unless it has a real one, as cuDNN
// compiles kernels at run time only with some driver. To be called before the first cuDNN call.
// Returns what went wrong, or nothing.
std::string LoadAnyDriver();

// What backends/cuda's sources have to refuse: sizes of zero, below it, and without measure.
std::vector<CudnnCase> HostileProblems();

}  // namespace plait::cuda
