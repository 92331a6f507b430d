#include "optimizer/cost/replaying_profiler.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace plait {

// A key that is missing is an error and not a kernel that cannot run: the search would go on and
// decide otherwise than it did.
absl::StatusOr<std::vector<Profile>> ReplayingProfiler::Measure(
    absl::Span<const ProfileRequest> requests) {
  std::vector<Profile> profiles;
  for (const ProfileRequest& request : requests) {
    const std::string key_text = request.key.ToString();
    const Profile* profile = log_.FindProfile(key_text);
    if (profile == nullptr) {
      return absl::NotFoundError(
          absl::StrCat("the measurement log has no profile of ", request.key.family, " kernel \"",
                       key_text, "\": replay it with the model, options and build that wrote it"));
    }
    profiles.push_back(*profile);
  }
  return profiles;
}

}  // namespace plait
