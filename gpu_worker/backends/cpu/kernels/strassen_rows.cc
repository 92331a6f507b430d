#include "gpu_worker/backends/cpu/kernels/strassen_rows.h"

#include <cmath>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/operands.h"
#include "gpu_worker/backends/cpu/kernels/power_of_two.h"
#include "gpu_worker/backends/cpu/loops/loops.h"

namespace plait {

absl::StatusOr<StrassenRows> StrassenRows::Load(LoadContext* context, const Source& source) {
  StrassenRows rows;
  rows.source_ = source;
  const int64_t count = 2 * rows.pairs();
  PLAIT_ASSIGN_OR_RETURN(rows.factors_, ScratchOf<float>(context, count));
  PLAIT_ASSIGN_OR_RETURN(rows.counts_, ScratchOf<int32_t>(context, count));
  PLAIT_ASSIGN_OR_RETURN(rows.outliers_, ScratchOf<Outlier>(context, count * rows.outliers_max()));
  PLAIT_ASSIGN_OR_RETURN(rows.spare_,
                         ScratchOf<float>(context, int64_t{2} * context->width() * source.depth));
  return rows;
}

void StrassenRows::Read(int64_t pair, float* to, int64_t product_floats, int thread) const {
  float* const spare = spare_ + int64_t{2} * thread * source_.depth;
  StrassenPair rows = {.y = to, .y_product_floats = product_floats, .size = source_.depth / 2};
  for (int half = 0; half < 2; ++half) {
    const int64_t row = pair + half * pairs();
    rows.x[half] = ReadRow(row, spare + half * source_.depth);
    rows.factors[half] = InverseOf(factors_[row]);
  }
  Loops().strassen_pair(rows);
}

const float* StrassenRows::ReadRow(int64_t row, float* spare) const {
  const int64_t depth = source_.depth;
  counts_[row] = 0;
  factors_[row] = 1;
  const bool is_there = row < source_.rows;  // the last row may have no partner
  const float* const data = this->row(row);
  const Magnitudes seen = is_there ? Loops().magnitudes(data, depth) : Magnitudes();
  if (!is_there || !std::isfinite(seen.sum)) {
    counts_[row] = -1;
    std::fill_n(spare, depth, 0.0f);
    return spare;
  }
  const float mean = seen.sum / static_cast<float>(depth);
  const float limit = kOutlierMeans * mean;
  if (!(seen.largest > limit)) {
    factors_[row] = PowerOfTwoIn(mean);
    return data;
  }
  TakeOutliers(row, limit, spare);
  factors_[row] = PowerOfTwoIn(Loops().magnitudes(spare, depth).sum / static_cast<float>(depth));
  return spare;
}

void StrassenRows::TakeOutliers(int64_t row, float limit, float* spare) const {
  const float* const data = this->row(row);
  Outlier* const outliers = outliers_ + row * outliers_max();
  int32_t count = 0;
  for (int64_t k = 0; k < source_.depth; ++k) {
    const bool is_outlier = std::abs(data[k]) > limit && count < outliers_max();
    spare[k] = is_outlier ? 0 : data[k];
    if (is_outlier) outliers[count++] = {k, data[k]};
  }
  counts_[row] = count;
}

}  // namespace plait
