#pragma once

#include "gpu_worker/executor/executor.h"
#include "gpu_worker/executor/profile_kernel.h"
#include "gpu_worker/executor/settled_yardsticks.h"
#include "optimizer/cost/measurement_log.h"
#include "optimizer/cost/profile.h"
#include "optimizer/cost/profile_cache.h"

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
  // Takes a third of a second, or a second beside others (ReadSettledYardsticks). Never fails.
  absl::StatusOr<Yardsticks> ReadYardsticks() override { return ReadSettledYardsticks(executor_); }

 private:
  Executor& executor_;
  ProfileOptions timing_;
};

// What this process has measured of kernels. For models that are compared it is one for all: then
// kernels that they share are the same ones in each, and models that are equal have equal plans.
// Neither copied nor moved; not thread-safe.
struct LocalProfiles {
  // `executor` must outlive the profiles.
  LocalProfiles(Executor& executor, ProfileOptions timing)
      : profiler(executor, timing), cache(profiler, log) {}

  LocalProfiler profiler;
  MeasurementLog log;
  ProfileCache cache;
};

}  // namespace plait
