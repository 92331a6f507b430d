#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "gpu_worker/backends/cuda/driver/result.h"
#include "gpu_worker/backends/cuda/problem/problem.h"

namespace plait::cuda {

// The command line of a sub-command.
struct Options {
  std::string command;
  std::string kernels;   // path of the kernel list
  std::string profiles;  // path of recorded profiles
  std::string out;
  std::vector<Precision> precisions = {Precision::kStrict, Precision::kTf32, Precision::kFp16,
                                       Precision::kBf16};
  std::vector<MemoryLayout> layouts = {MemoryLayout::kNchw, MemoryLayout::kNhwc};
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  int64_t priority_max = INT64_MAX;
  int64_t kernels_max = INT64_MAX;
  bool fake = false;
  bool deviceless = false;
  bool prepare_all = false;  // enumerate: also candidates that are compiled at run time
  bool help = false;
};

// Errors: kInvalid for an unknown command or flag, a missing or bad value, or a flag that the
// command needs.
Result<Options> ParseOptions(const std::vector<std::string>& arguments);

// How the program is used, with examples.
std::string HelpText();

inline bool PastDeadline(const Options& options) {
  return std::chrono::steady_clock::now() >= options.deadline;
}

// The sub-commands: each returns the exit status, 0 also when the time ran out; RunEnumerate() 1
// where a candidate could not be built.
int RunKernels(const Options& options);
int RunConstants(const Options& options);
int RunContention(const Options& options);
int RunEnumerate(const Options& options);

}  // namespace plait::cuda
