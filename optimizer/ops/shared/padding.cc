#include "optimizer/ops/shared/padding.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace plait {

absl::StatusOr<PadMode> PadModeOf(const Attributes& attributes) {
  const std::string mode = attributes.String("mode", "constant");
  if (mode == "constant") return PadMode::kConstant;
  if (mode == "reflect") return PadMode::kReflect;
  if (mode == "edge") return PadMode::kEdge;
  if (mode == "wrap") return PadMode::kWrap;
  return absl::InvalidArgumentError(
      absl::StrCat("mode must be constant, reflect, edge or wrap, is ", mode));
}

int64_t PaddedFrom(int64_t position, int64_t dim, PadMode mode) {
  if (position >= 0 && position < dim) return position;
  switch (mode) {
    case PadMode::kConstant:
      return -1;
    case PadMode::kEdge:
      return std::clamp<int64_t>(position, 0, dim - 1);
    case PadMode::kWrap:
      return ((position % dim) + dim) % dim;
    case PadMode::kReflect: {
      // There and back again without repeating the ends.
      const int64_t period = std::max<int64_t>(2 * (dim - 1), 1);
      const int64_t phase = ((position % period) + period) % period;
      return std::min(phase, period - phase) % dim;
    }
  }
  return -1;
}

}  // namespace plait
