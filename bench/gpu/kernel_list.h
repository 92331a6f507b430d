#pragma once

#include <string>
#include <vector>

#include "bench/gpu/flat_json.h"
#include "gpu_worker/backends/cuda/driver/result.h"
#include "gpu_worker/backends/cuda/problem/problem.h"

namespace plait::cuda {

// One line of the kernel list: the key fields of a profile, and the problem behind them.
struct ListedKernel {
  std::string family;
  std::string graph;
  std::string formats;  // as in ProfileKey, all plain
  bool cold_weights = true;
  Problem problem;
  int64_t priority = 0;
  std::string origin;
};

// Reads one line. Errors: kInvalid, naming the field.
Result<ListedKernel> ReadKernel(const FlatObject& object);

// Reads a file of them, ordered by priority, else as in the file. Lines that cannot be read are
// reported on stderr and left out. Errors: kUnavailable when the file cannot be read; kInvalid when
// it has no usable line.
Result<std::vector<ListedKernel>> ReadKernelList(const std::string& path);

// The formats of a ProfileKey, where every 4-d input and output lies as `layout` says; for a
// problem that knows no channels they stay plain.
std::string FormatsIn(const ListedKernel& kernel, MemoryLayout layout);

// Reads a precision or a layout by its name. Errors: kInvalid.
Result<Precision> ParsePrecision(const std::string& name);
Result<MemoryLayout> ParseLayout(const std::string& name);

}  // namespace plait::cuda
