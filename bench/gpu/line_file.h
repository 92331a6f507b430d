#pragma once

#include <string>

#include "gpu_worker/backends/cuda/driver/result.h"

namespace plait::cuda {

// A file of lines to which a run appends; every line is on its way to the disk when Write()
// returns. Not thread-safe.
class LineFile {
 public:
  // Opens for appending; ends a line that an earlier run left torn. Errors: kUnavailable.
  static Result<LineFile> Open(const std::string& path);
  ~LineFile();
  LineFile(LineFile&& other) noexcept;
  LineFile& operator=(LineFile&& other) noexcept;

  // Errors: kUnavailable, as when the disk is full.
  Status Write(const std::string& line);

 private:
  LineFile(int descriptor, std::string path);

  int descriptor_;
  std::string path_;
};

}  // namespace plait::cuda
