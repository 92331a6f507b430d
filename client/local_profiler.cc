#include "client/local_profiler.h"

#include "base/status_macros.h"
#include "gpu_worker/executor/profile_batch.h"

namespace plait {

absl::StatusOr<std::vector<Profile>> LocalProfiler::Measure(
    absl::Span<const ProfileRequest> requests) {
  std::vector<Profile> profiles(requests.size());
  std::vector<LoneKernel> kernels;
  std::vector<size_t> places;
  for (size_t i = 0; i < requests.size(); ++i) {
    absl::StatusOr<LoneKernel> lone = LoneKernelOf(requests[i].key);
    // A kernel that cannot be built alone is one that cannot be chosen.
    if (!lone.ok()) continue;
    kernels.push_back(*std::move(lone));
    places.push_back(i);
  }
  PLAIT_ASSIGN_OR_RETURN(const std::vector<KernelProfile> measured,
                         ProfileKernels(executor_, kernels, timing_));
  for (size_t i = 0; i < measured.size(); ++i) profiles[places[i]] = measured[i].profile;
  return profiles;
}

}  // namespace plait
