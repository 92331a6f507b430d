#include "server/search_child/known_profiles.h"

#include "proto/wire/measurement.h"
#include "proto/wire/profile.h"

namespace plait {

std::optional<LoadEffect> LoadProfiles(const internal::Start& start, ProfileCache& profiles) {
  std::optional<LoadEffect> effect;
  // Of a device that is only described, what others recorded is better than what is predicted.
  const bool can_measure = !start.device().predicted();
  for (const v1::StoredProfile& stored : start.profiles()) {
    if (stored.has_load_effect()) {
      if (!wire::CheckLoadEffect(stored.load_effect(), "load_effect").ok()) continue;
      effect = {stored.load_effect().deviation(), static_cast<int>(stored.load_effect().loads())};
      continue;
    }
    const absl::StatusOr<Profile> profile = wire::ProfileFromProto(stored.profile());
    if (!profile.ok() || (can_measure && !IsSteady(profile->yardsticks))) continue;
    profiles.Load(stored.key(), *profile);
  }
  return effect;
}

}  // namespace plait
