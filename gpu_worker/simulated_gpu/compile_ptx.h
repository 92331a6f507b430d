#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace plait::simulated_gpu {

// Compiles CUDA C++ into PTX for a virtual architecture such as "compute_90", with the options that
// generated kernels are compiled with (driver/nvrtc.cc). Thread-safe.
// Errors: kUnavailable without libnvrtc.so.13; kInvalidArgument with the compiler's words.
absl::StatusOr<std::string> CompileToPtx(const std::string& source,
                                         const std::string& architecture);

}  // namespace plait::simulated_gpu
