#pragma once

#include <memory>

#include "storage/profile_store.h"

namespace plait {

// Profiles in memory: for tests and trials. Nothing survives the process. Ordered as the other
// backends order them. Thread-safe.
// The same conformance tests hold for it.
std::unique_ptr<ProfileStore> NewMemoryProfileStore();

}  // namespace plait
