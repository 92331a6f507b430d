#pragma once

#include <optional>

#include "optimizer/cost/load_effect.h"
#include "optimizer/cost/profile_cache.h"
#include "plait/internal/search_child.pb.h"

namespace plait {

// Gives a cache what is known about the device's kernels when a job begins. A profile that cannot
// be trusted is measured again, and so is one beside which the device was not steady (IsSteady),
// but of a device that is only described. Returns the device's load effect, if it is among them.
std::optional<LoadEffect> LoadProfiles(const internal::Start& start, ProfileCache& profiles);

}  // namespace plait
