#pragma once

#include "absl/strings/string_view.h"

namespace plait {

// The version of a family's code: a digest, made when plait is built, of its files in offers/ and
// kernels/, of everything in the backend's folder that they include, and of the compiler. Profiles
// are kept under it, so that a change of one family's code costs that family's profiles only.
// Empty for a name that is not in families.def. Pure and thread-safe.
absl::string_view CpuFamilyVersion(absl::string_view family);

}  // namespace plait
