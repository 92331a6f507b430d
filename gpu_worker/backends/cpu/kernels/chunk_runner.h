#pragma once

#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace plait {

// The chunks of a kernel, divided among the threads that it takes.
class ChunkRunner {
 public:
  // REQUIRES: width >= 1.
  explicit ChunkRunner(int width) : statuses_(width) {}

  // Calls run(begin, end, thread) for pieces that cover the chunks: see ForEachPart.
  // Errors: the first of a thread that had one, which then runs no more chunks.
  absl::Status Run(int64_t chunks,
                   absl::FunctionRef<absl::Status(int64_t begin, int64_t end, int thread)> run);

 private:
  std::vector<absl::Status> statuses_;  // of each thread, in the last run
};

}  // namespace plait
