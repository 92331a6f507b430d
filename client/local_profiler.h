#pragma once

#include "gpu_worker/executor/executor.h"
#include "gpu_worker/executor/profile_kernel.h"
#include "optimizer/cost/profile.h"

namespace plait {

// Measures kernels in this process. Not thread-safe.
//
// What cannot run or be built has a profile without samples, as RemoteProfiler answers; so a search
// need not know where its times come from.
class LocalProfiler : public Profiler {
 public:
  // `executor` must outlive the profiler.
  LocalProfiler(Executor& executor, ProfileOptions timing) : executor_(executor), timing_(timing) {}

  // Blocks for as long as the samples take. Never fails.
  absl::StatusOr<std::vector<Profile>> Measure(absl::Span<const ProfileRequest> requests) override;
  // Takes some milliseconds. Never fails.
  absl::StatusOr<Yardsticks> ReadYardsticks() override { return executor_.ReadYardsticks(); }

 private:
  Executor& executor_;
  ProfileOptions timing_;
};

}  // namespace plait
