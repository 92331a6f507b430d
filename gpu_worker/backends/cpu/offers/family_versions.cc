#include "gpu_worker/backends/cpu/offers/family_versions.h"

namespace plait {
namespace {

struct FamilyVersion {
  absl::string_view family;
  absl::string_view version;
};

// Written by cmake/family_versions.cmake. Only this file includes it, because any change of the
// backend's code changes it.
constexpr FamilyVersion kVersions[] = {
#define PLAIT_FAMILY_VERSION(name, version) {#name, version},
#include "gpu_worker/backends/cpu/offers/family_versions.def"
#undef PLAIT_FAMILY_VERSION
};

}  // namespace

// Empty for an unknown family, as KernelCatalog::Version has it.
absl::string_view CpuFamilyVersion(absl::string_view family) {
  for (const FamilyVersion& known : kVersions) {
    if (known.family == family) return known.version;
  }
  return {};
}

}  // namespace plait
