#include "optimizer/ops/shared/indices.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

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

absl::Status CheckIndexTuples(absl::Span<const int64_t> indices, absl::Span<const int64_t> dims) {
  for (size_t at = 0; at < indices.size(); ++at) {
    PLAIT_RETURN_IF_ERROR(CheckIndices(indices.subspan(at, 1), dims[at % dims.size()]));
  }
  return absl::OkStatus();
}

int64_t OffsetOfTuple(absl::Span<const int64_t> tuple, absl::Span<const int64_t> dims) {
  int64_t offset = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    offset = offset * dims[i] + (tuple[i] < 0 ? tuple[i] + dims[i] : tuple[i]);
  }
  return offset;
}

}  // namespace plait
