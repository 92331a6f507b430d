#include "gpu_worker/backends/cpu/kernels/reduced_groups.h"

#include <algorithm>

namespace plait {

std::vector<ReducedGroup> ReducedGroupsOf(const Shape& shape, absl::Span<const int> axes) {
  std::vector<ReducedGroup> groups;
  for (int axis = 0; axis < static_cast<int>(shape.size()); ++axis) {
    if (shape[axis] == 1) continue;
    const bool is_reduced = std::find(axes.begin(), axes.end(), axis) != axes.end();
    if (!groups.empty() && groups.back().is_reduced == is_reduced) {
      groups.back().size *= shape[axis];
    } else {
      groups.push_back({shape[axis], is_reduced});
    }
  }
  return groups;
}

}  // namespace plait
