#include "gpu_worker/backends/cpu/kernels/chunk_runner.h"

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/team/team.h"

namespace plait {

absl::Status ChunkRunner::Run(
    int64_t chunks, absl::FunctionRef<absl::Status(int64_t begin, int64_t end, int thread)> run) {
  for (absl::Status& status : statuses_) status = absl::OkStatus();
  ForEachPart(static_cast<int>(statuses_.size()), chunks,
              [&](int64_t begin, int64_t end, int thread) {
                if (statuses_[thread].ok()) statuses_[thread] = run(begin, end, thread);
              });
  for (const absl::Status& status : statuses_) PLAIT_RETURN_IF_ERROR(status);
  return absl::OkStatus();
}

}  // namespace plait
