#include "gpu_worker/backends/cpu/kernels/digit_weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/loops/loops.h"
#include "gpu_worker/backends/cpu/microkernel/digit_microkernel.h"

namespace plait {
namespace {

// What the digits leave of a number, in 128ths of the last one. A number that all of them round to
// zero leaves something: times an infinity it is not nothing.
int8_t RestOf(float number, float unit, float unit_factor, int32_t digits) {
  const float rest = (number - static_cast<float>(digits) * unit) * unit_factor;
  const auto rounded =
      static_cast<int8_t>(std::clamp(rest + std::copysign(0.5f, rest), -127.0f, 127.0f));
  if (digits != 0 || rounded != 0 || number == 0) return rounded;
  return number > 0 ? 1 : -1;
}

}  // namespace

absl::StatusOr<DigitWeights> DigitWeights::Pack(
    LoadContext* context, const Shape& shape,
    absl::FunctionRef<void(int64_t column, float* numbers)> read) {
  DigitWeights weights;
  PLAIT_ASSIGN_OR_RETURN(const bool has_digits, weights.Allocate(context, shape));
  const int64_t columns = weights.blocks() * kBlockColumns;
  PLAIT_ASSIGN_OR_RETURN(
      const SharingExecutable::Place place,
      weights.AllocateBeside(context, columns * (4 + weights.depth()), "scales and rests"));
  weights.scales_ = reinterpret_cast<float*>(place.data);
  weights.rests_ = reinterpret_cast<int8_t*>(weights.scales_ + columns);
  if (has_digits && place.is_packed) return weights;
  PLAIT_RETURN_IF_ERROR(weights.PackColumns(
      context, read,
      [&](int64_t column, const float* numbers) { return weights.PackColumn(column, numbers); }));
  return weights;
}

// Four digits that follow each other along the depth lie beside each other.
bool DigitWeights::PackColumn(int64_t column, const float* numbers) const {
  const int planes = shape().planes;
  std::vector<int8_t> digits(static_cast<size_t>(planes * depth()));
  std::vector<int8_t> rests(static_cast<size_t>(depth()));
  PlaneRows row{.x = numbers,
                .x_row_floats = depth(),
                .rows = 1,
                .size = depth(),
                .plane_size = depth(),
                .planes = {},
                .stride_bytes = depth(),
                .scales = scales_ + column};
  for (int plane = 0; plane < planes; ++plane) {
    row.planes[plane] = reinterpret_cast<std::byte*>(&digits[plane * depth()]);
  }
  Loops().split_rows(row);
  if (scales_[column] == kNoDigitScale) return false;
  const float unit = scales_[column] / (planes == 3 ? 65536.0f : 256.0f);
  const float unit_factor = scales_[column] > 0 ? 128.0f / unit : 0;
  for (int64_t k = 0; k < depth(); ++k) {
    int32_t whole = 0;
    for (int plane = 0; plane < planes; ++plane) whole = whole * 256 + digits[plane * depth() + k];
    rests[k] = RestOf(numbers[k], unit, unit_factor, whole);
  }
  std::byte* const packed = block(column / kBlockColumns);
  for (int64_t k = 0; k < depth(); k += 4) {
    std::memcpy(rests_ + RestOffset(k, column), &rests[k], 4);
    for (int plane = 0; plane < planes; ++plane) {
      std::memcpy(packed + Offset(plane, k, column), &digits[plane * depth() + k], 4);
    }
  }
  return true;
}

int64_t DigitWeights::Offset(int plane, int64_t k, int64_t column) const {
  return RightDigitOffset(shape().planes, (ColumnsOf(column / kBlockColumns) + 15) / 16, plane, k,
                          static_cast<int>(column % kBlockColumns));
}

int64_t DigitWeights::RestOffset(int64_t k, int64_t column) const {
  const int64_t block = column / kBlockColumns;
  return block * kBlockColumns * depth() +
         RightDigitOffset(1, (ColumnsOf(block) + 15) / 16, 0, k,
                          static_cast<int>(column % kBlockColumns));
}

void DigitWeights::AddNumber(float x, int64_t k, int64_t block, float* y) const {
  const int64_t column = block * kBlockColumns;
  const int64_t four = k / 4 * 4;
  const std::byte* const digits = this->block(block) + Offset(0, four, column);
  Loops().add_number({x, reinterpret_cast<const int8_t*>(digits), rests_ + RestOffset(four, column),
                      static_cast<int>(k - four), shape().planes, ColumnsOf(block),
                      scales_ + column, y});
}

}  // namespace plait
