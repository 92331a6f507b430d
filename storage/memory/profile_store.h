#pragma once

#include <memory>

#include "storage/profile_store.h"

namespace plait {

// Profiles in memory: for tests and trials. Nothing survives the process. Thread-safe.
std::unique_ptr<ProfileStore> NewMemoryProfileStore();

}  // namespace plait
