#include "optimizer/ops/shared/indices.h"

#include "absl/strings/str_cat.h"

namespace plait {

// Before anything is read; negative ones count from the end, as in Python.
absl::Status CheckIndices(absl::Span<const int64_t> indices, int64_t dim) {
  for (int64_t index : indices) {
    if (index < -dim || index >= dim) {
      return absl::InvalidArgumentError(
          absl::StrCat("indices must be in [", -dim, ", ", dim, "), one is ", index));
    }
  }
  return absl::OkStatus();
}

}  // namespace plait
