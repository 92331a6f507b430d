#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gpu_worker/backends/cuda/driver/result.h"
#include "gpu_worker/backends/cuda/generated/kernel.h"
#include "gpu_worker/backends/cuda/problem/host_operands.h"
#include "gpu_worker/backends/cuda/problem/problem_shape.h"

namespace plait::cuda {

struct EmulatedKernel {
  GeneratedKernel kernel;
  Precision precision = Precision::kStrict;
};

// Generated kernels compiled by the host's compiler and run with a fiber per thread. One at a time
// in a process: the emulated block's state is global.
class Emulation {
 public:
  // Compiles all kernels into one shared library, which is never unloaded. Errors: kInternal with
  // the compiler's words.
  static Result<Emulation> Compile(const std::vector<EmulatedKernel>& kernels);

  // Runs a kernel on operands between guard bytes and returns its outputs, in memory order.
  // Outputs and the workspace are NaN before. `error_word` gets what Operands::error_word has then.
  // Errors: kInternal when a barrier was not reached by every thread, or when a guard was written.
  Result<std::vector<std::vector<float>>> Run(size_t kernel, const ProblemShape& shape,
                                              const HostOperands& operands,
                                              int64_t* error_word = nullptr) const;

 private:
  using Entry = bool (*)(const unsigned* grid, const unsigned* block, void* const* arguments);

  std::vector<EmulatedKernel> kernels_;
  std::vector<Entry> entries_;
};

}  // namespace plait::cuda
