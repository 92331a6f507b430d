#include "client/local_profiler.h"

namespace plait {

absl::StatusOr<std::vector<Profile>> LocalProfiler::Measure(
    absl::Span<const ProfileRequest> requests) {
  std::vector<Profile> profiles;
  for (const ProfileRequest& request : requests) {
    const absl::StatusOr<LoneKernel> lone = LoneKernelOf(request.key);
    // A kernel that cannot be built alone is one that cannot be chosen.
    profiles.push_back(lone.ok() ? ProfileKernel(executor_, *lone, timing_).profile : Profile());
  }
  return profiles;
}

}  // namespace plait
