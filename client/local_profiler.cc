#include "client/local_profiler.h"

namespace plait {

absl::StatusOr<std::vector<Profile>> LocalProfiler::Measure(
    absl::Span<const ProfileRequest> requests) {
  std::vector<Profile> profiles;
  for (const ProfileRequest& request : requests) {
    profiles.push_back(ProfileKernel(&executor_, request.key, timing_).profile);
  }
  return profiles;
}

}  // namespace plait
