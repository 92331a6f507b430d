#include "tests/files/source_path.h"

#include "absl/strings/str_cat.h"

namespace plait {

std::string SourcePath(absl::string_view file) { return absl::StrCat(PLAIT_SOURCE_DIR, "/", file); }

}  // namespace plait
