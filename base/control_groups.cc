#include "base/control_groups.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace plait {
namespace {

// The group at `path`, such as "/user/build", and all above it.
void AppendGroups(const std::string& root, std::string path, bool is_unified,
                  std::vector<ControlGroup>* found) {
  found->push_back({root, is_unified});
  while (!path.empty() && path != "/") {
    found->push_back({absl::StrCat(root, path), is_unified});
    path.erase(path.rfind('/'));
  }
}

}  // namespace

std::vector<ControlGroup> ControlGroupsOf(absl::string_view controller, absl::string_view groups,
                                          const std::string& root) {
  std::vector<ControlGroup> found;
  for (const absl::string_view line : absl::StrSplit(groups, '\n')) {
    // "4:memory,hugetlb:/build" or, in the second version, "0::/build".
    const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3 || parts[2].empty() || parts[2].front() != '/') continue;
    if (parts[0] == "0" && parts[1].empty()) {
      AppendGroups(root, parts[2], /*is_unified=*/true, &found);
      continue;
    }
    const std::vector<std::string> controllers = absl::StrSplit(parts[1], ',');
    if (std::find(controllers.begin(), controllers.end(), controller) == controllers.end()) {
      continue;
    }
    // Of several that are mounted together each has a link by its own name.
    AppendGroups(absl::StrCat(root, "/", controller), parts[2], /*is_unified=*/false, &found);
  }
  return found;
}

std::string OwnControlGroups() {
  std::ifstream file("/proc/self/cgroup");
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace plait
