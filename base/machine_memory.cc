#include "base/machine_memory.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <limits>
#include <vector>

#include <unistd.h>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

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

// Of the group at `path`, such as "/user/build", and of all above it.
int64_t LimitFrom(const std::string& root, std::string path, absl::string_view file) {
  int64_t bytes = LimitIn(absl::StrCat(root, "/", file));
  while (!path.empty() && path != "/") {
    bytes = std::min(bytes, LimitIn(absl::StrCat(root, path, "/", file)));
    path.erase(path.rfind('/'));
  }
  return bytes;
}

}  // namespace

int64_t GroupMemoryBytes(absl::string_view groups, const std::string& root) {
  int64_t bytes = kNoLimit;
  for (const absl::string_view line : absl::StrSplit(groups, '\n')) {
    // "4:memory,hugetlb:/build" or, in the second version, "0::/build".
    const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3 || parts[2].empty() || parts[2].front() != '/') continue;
    if (parts[0] == "0" && parts[1].empty()) {
      bytes = std::min(bytes, LimitFrom(root, parts[2], "memory.max"));
      continue;
    }
    const std::vector<std::string> controllers = absl::StrSplit(parts[1], ',');
    if (std::find(controllers.begin(), controllers.end(), "memory") == controllers.end()) continue;
    bytes = std::min(bytes,
                     LimitFrom(absl::StrCat(root, "/memory"), parts[2], "memory.limit_in_bytes"));
  }
  return bytes;
}

int64_t MachineMemoryBytes() {
  std::ifstream file("/proc/self/cgroup");
  const std::string groups{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return std::min(int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE),
                  GroupMemoryBytes(groups, "/sys/fs/cgroup"));
}

int64_t MachineMemoryBytesUpTo(int64_t bytes_max) {
  const int64_t bytes = MachineMemoryBytes();
  return bytes_max > 0 ? std::min(bytes, bytes_max) : bytes;
}

}  // namespace plait
