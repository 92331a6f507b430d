#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace plait {

// The path of a file of this project, which is given from its root on. Only one source knows where
// that is, so that the others compile to the same in any clone.
std::string SourcePath(absl::string_view file);

}  // namespace plait
