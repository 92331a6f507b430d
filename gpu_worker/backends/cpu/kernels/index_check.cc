#include "gpu_worker/backends/cpu/kernels/index_check.h"

#include <atomic>

#include "absl/strings/str_cat.h"
#include "gpu_worker/backends/cpu/offers/worth_dividing.h"
#include "gpu_worker/backends/cpu/team/team.h"

namespace plait {
namespace {

bool LiesIn(int64_t index, int64_t dim) { return index >= -dim && index < dim; }

// Every `step`-th of the indices [begin, end). Without a branch, so that the loop is one over
// vectors.
template <typename Index>
bool AllLieIn(const Index* indices, int64_t begin, int64_t end, int64_t step, int64_t dim) {
  bool all = true;
  for (int64_t i = begin; i < end; i += step) all &= LiesIn(indices[i], dim);
  return all;
}

bool AllLieIn(const Operand& indices, int64_t begin, int64_t end, absl::Span<const int64_t> dims) {
  const auto axes = static_cast<int64_t>(dims.size());
  bool all = true;
  for (int64_t axis = 0; axis < axes; ++axis) {
    all &= indices.type.dtype == DataType::kInt64
               ? AllLieIn(reinterpret_cast<const int64_t*>(indices.data), begin + axis, end, axes,
                          dims[axis])
               : AllLieIn(reinterpret_cast<const int32_t*>(indices.data), begin + axis, end, axes,
                          dims[axis]);
  }
  return all;
}

}  // namespace

absl::Status CheckIndicesInParts(int width, const Operand& indices, absl::Span<const int64_t> dims,
                                 absl::string_view op) {
  const int64_t count = indices.type.elements();
  const auto axes = static_cast<int64_t>(dims.size());
  const int threads = count < kWideElementsMin ? 1 : width;
  std::atomic<bool> all = true;
  ForEachPart(threads, count / axes, [&](int64_t begin, int64_t end, int) {
    if (!AllLieIn(indices, begin * axes, end * axes, dims)) all = false;
  });
  if (all) return absl::OkStatus();
  for (int64_t i = 0; i < count; ++i) {
    const int64_t dim = dims[i % axes];
    if (LiesIn(IndexAt(indices, i), dim)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(op, ": index ", IndexAt(indices, i), " is outside an axis of ", dim));
  }
  return absl::OkStatus();
}

}  // namespace plait
