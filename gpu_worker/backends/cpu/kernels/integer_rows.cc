#include "gpu_worker/backends/cpu/kernels/integer_rows.h"

#include <algorithm>
#include <cstring>

namespace plait {

void WidenLeftRow(const uint8_t* row, int64_t depth, DataType dtype, int32_t zero_point,
                  int16_t* to) {
  Loops().integers.widen[SignOf(dtype)](row, depth, zero_point, to);
  if (depth % 2 != 0) to[depth] = 0;
}

void SetLeftRows(const int16_t* first, int64_t row_numbers, int rows, IntegerTile* tile) {
  tile->rows = rows;
  for (int row = 0; row < rows; ++row) tile->left[row] = first + row * row_numbers;
}

// A row of the matrix at a time, whose numbers go to every second place.
void PackRightBlock(const RightBytes& right, int64_t block, int16_t* to) {
  const int64_t columns = IntegerBlockColumns();
  const int64_t first = block * columns;
  const int64_t count = std::min(columns, right.columns - first);
  std::fill_n(to, IntegerBlockNumbers(right.depth), int16_t{0});
  const bool is_signed = right.dtype == DataType::kInt8;
  for (int64_t k = 0; k < right.depth; ++k) {
    const uint8_t* const row = right.data + k * right.columns + first;
    int16_t* const pair = to + k / 2 * 2 * columns + k % 2;
    for (int64_t n = 0; n < count; ++n) {
      const int32_t value = is_signed ? static_cast<int8_t>(row[n]) : row[n];
      pair[2 * n] = static_cast<int16_t>(value - right.zero_point.integer(first + n));
    }
  }
}

void WriteSums(const SumsTarget& target, const int32_t* sums, int64_t count, std::byte* to) {
  if (target.dtype == DataType::kInt32) {
    // Only results in bytes have a bias.
    std::memcpy(to, sums, static_cast<size_t>(count) * sizeof(int32_t));
    return;
  }
  Loops().integers.requantize(sums, target.bias, target.factors, count,
                              ByteRangeOf(target.dtype, target.zero_point, target.limits),
                              reinterpret_cast<uint8_t*>(to));
}

}  // namespace plait
