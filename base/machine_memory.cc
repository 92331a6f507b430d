#include "base/machine_memory.h"

#include <algorithm>
#include <fstream>
#include <limits>

#include <unistd.h>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/control_groups.h"

namespace plait {
namespace {

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

// Without a limit a file says "max" in the second version, and about the largest int64 in the
// first.
int64_t LimitIn(const std::string& path) {
  std::ifstream file(path);
  std::string text;
  int64_t bytes = 0;
  file >> text;
  return absl::SimpleAtoi(text, &bytes) && bytes > 0 ? bytes : kNoLimit;
}

}  // namespace

int64_t GroupMemoryBytes(absl::string_view groups, const std::string& root) {
  int64_t bytes = kNoLimit;
  for (const ControlGroup& group : ControlGroupsOf("memory", groups, root)) {
    const char* const file = group.is_unified ? "/memory.max" : "/memory.limit_in_bytes";
    bytes = std::min(bytes, LimitIn(absl::StrCat(group.folder, file)));
  }
  return bytes;
}

int64_t MachineMemoryBytes() {
  return std::min(int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE),
                  GroupMemoryBytes(OwnControlGroups(), std::string(kControlGroupsRoot)));
}

int64_t MachineMemoryBytesUpTo(int64_t bytes_max) {
  const int64_t bytes = MachineMemoryBytes();
  return bytes_max > 0 ? std::min(bytes, bytes_max) : bytes;
}

}  // namespace plait
