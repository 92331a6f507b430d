#pragma once

#include "gpu_worker/executor/executor.h"
#include "gpu_worker/executor/profile_kernel.h"
#include "optimizer/cost/profile.h"

namespace plait {

// Measures kernels in this process. Not thread-safe.
class LocalProfiler : public Profiler {
 public:
  // `executor` must outlive the profiler.
  LocalProfiler(Executor& executor, ProfileOptions timing) : executor_(executor), timing_(timing) {}

  absl::StatusOr<std::vector<Profile>> Measure(absl::Span<const ProfileRequest> requests) override;

 private:
  Executor& executor_;
  ProfileOptions timing_;
};

}  // namespace plait
