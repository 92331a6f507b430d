#include "gpu_worker/backends/cpu/kernels/digit_weights.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/loops/loops.h"
#include "gpu_worker/backends/cpu/team/team.h"

namespace plait {
namespace {

constexpr int64_t kStep = 64;

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
  weights.shape_ = shape;
  weights.block_bytes_ = int64_t{kBlockColumns} * shape.planes * shape.steps * kStep;
  PLAIT_ASSIGN_OR_RETURN(weights.digits_,
                         context->AllocateWeights(weights.blocks() * weights.block_bytes_));
  PLAIT_ASSIGN_OR_RETURN(std::byte* const scales,
                         context->AllocateWeights(weights.blocks() * kBlockColumns * 4));
  weights.scales_ = reinterpret_cast<float*>(scales);
  PLAIT_ASSIGN_OR_RETURN(
      std::byte* const rests,
      context->AllocateWeights(weights.blocks() * kBlockColumns * shape.steps * kStep));
  weights.rests_ = reinterpret_cast<int8_t*>(rests);
  std::atomic<bool> is_packed = true;
  ForEachPart(context->width(), weights.blocks(), [&](int64_t begin, int64_t end, int) {
    for (int64_t block = begin; block < end; ++block) {
      if (!weights.PackBlock(block, read)) is_packed = false;
    }
  });
  if (!is_packed) return context->Refuse();
  return weights;
}

int64_t DigitWeights::blocks() const {
  return (shape_.columns + kBlockColumns - 1) / kBlockColumns;
}

int DigitWeights::ColumnsOf(int64_t block) const {
  return static_cast<int>(std::min<int64_t>(kBlockColumns, shape_.columns - block * kBlockColumns));
}

// Four digits that follow each other along the depth lie beside each other.
bool DigitWeights::PackBlock(int64_t block,
                             absl::FunctionRef<void(int64_t column, float* numbers)> read) const {
  const int64_t depth = shape_.steps * kStep;
  std::vector<float> numbers(static_cast<size_t>(depth));
  std::vector<int8_t> digits(static_cast<size_t>(shape_.planes * depth));
  std::vector<int8_t> rests(static_cast<size_t>(depth));
  std::memset(this->block(block), 0, static_cast<size_t>(block_bytes_));
  auto* const packed = reinterpret_cast<int8_t*>(digits_);
  const int64_t first = block * kBlockColumns;
  for (int64_t column = first; column < first + ColumnsOf(block); ++column) {
    std::fill(numbers.begin(), numbers.end(), 0.0f);
    read(column, numbers.data());
    DigitRows row{.x = numbers.data(),
                  .x_row_floats = depth,
                  .rows = 1,
                  .size = depth,
                  .digits_size = depth,
                  .digits = {},
                  .digits_stride = depth,
                  .scales = scales_ + column};
    for (int plane = 0; plane < shape_.planes; ++plane) row.digits[plane] = &digits[plane * depth];
    Loops().split_rows(row);
    if (scales_[column] == kNoDigitScale) return false;
    const float unit = scales_[column] / (shape_.planes == 3 ? 65536.0f : 256.0f);
    const float unit_factor = scales_[column] > 0 ? 128.0f / unit : 0;
    for (int64_t k = 0; k < depth; ++k) {
      int32_t whole = 0;
      for (int plane = 0; plane < shape_.planes; ++plane) {
        whole = whole * 256 + row.digits[plane][k];
      }
      rests[k] = RestOf(numbers[k], unit, unit_factor, whole);
    }
    for (int64_t k = 0; k < depth; k += 4) {
      std::memcpy(rests_ + RestOffset(k, column), &rests[k], 4);
    }
    for (int plane = 0; plane < shape_.planes; ++plane) {
      for (int64_t k = 0; k < depth; k += 4) {
        std::memcpy(packed + Offset(plane, k, column), row.digits[plane] + k, 4);
      }
    }
  }
  return true;
}

int64_t DigitWeights::Offset(int plane, int64_t k, int64_t column) const {
  const int64_t block = column / kBlockColumns;
  return block * block_bytes_ + RightDigitOffset(shape_.planes, (ColumnsOf(block) + 15) / 16, plane,
                                                 k, static_cast<int>(column % kBlockColumns));
}

int64_t DigitWeights::RestOffset(int64_t k, int64_t column) const {
  const int64_t block = column / kBlockColumns;
  return block * kBlockColumns * shape_.steps * kStep +
         RightDigitOffset(1, (ColumnsOf(block) + 15) / 16, 0, k,
                          static_cast<int>(column % kBlockColumns));
}

void DigitWeights::AddNumber(float x, int64_t k, int64_t block, float* y) const {
  const int64_t column = block * kBlockColumns;
  const int64_t four = k / 4 * 4;
  Loops().add_number({x, reinterpret_cast<const int8_t*>(digits_) + Offset(0, four, column),
                      rests_ + RestOffset(four, column), static_cast<int>(k - four), shape_.planes,
                      ColumnsOf(block), scales_ + column, y});
}

}  // namespace plait
