#include "gpu_worker/backends/cpu/microkernel/tile_products.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace plait {
namespace {

constexpr int kColumns = 16;

// One number of each column.
using Row = std::array<float, kColumns>;

// A tile's row as numbers.
template <typename T>
std::array<T, 64 / sizeof(T)> NumbersOf(const std::array<std::byte, 64>& row) {
  std::array<T, 64 / sizeof(T)> numbers;
  std::memcpy(numbers.data(), row.data(), row.size());
  return numbers;
}

// The columns of `right`, one number deep each, of `depth` rows with `group` of them.
template <typename T, int group, typename FloatOf>
std::array<Row, 16 * group> ByDepth(int depth, const Tile& right, FloatOf float_of) {
  std::array<Row, 16 * group> rows;
  for (int k = 0; k < depth; ++k) {
    const auto numbers = NumbersOf<T>(right[k]);
    for (int n = 0; n < kColumns; ++n) {
      for (int i = 0; i < group; ++i) rows[k * group + i][n] = float_of(numbers[n * group + i]);
    }
  }
  return rows;
}

inline float WithoutDenormal(float value) {
  return std::abs(value) < std::numeric_limits<float>::min() ? std::copysign(0.0f, value) : value;
}

float FloatOfBf16(uint16_t bits) {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof(value));
  return WithoutDenormal(value);
}

[[gnu::always_inline]] inline void MultiplyBytes(const TileShape& shape, int depth,
                                                 const Tile& left, const Tile& right, Tile* sums) {
  // 64 products of bytes, of at most 2^14 each, are exact in floats.
  const auto columns =
      ByDepth<int8_t, 4>(depth, right, [](int8_t number) { return static_cast<float>(number); });
  for (int m = 0; m < shape.rows; ++m) {
    const auto numbers = NumbersOf<int8_t>(left[m]);
    Row more = {};
    for (int k = 0; k < depth * 4; ++k) {
      const auto number = static_cast<float>(numbers[k]);
      for (int n = 0; n < kColumns; ++n) more[n] += number * columns[k][n];
    }
    auto total = NumbersOf<uint32_t>((*sums)[m]);
    for (int n = 0; n < kColumns; ++n) {
      total[n] += static_cast<uint32_t>(static_cast<int32_t>(more[n]));
    }
    std::memcpy((*sums)[m].data(), total.data(), shape.row_bytes);
  }
}

[[gnu::always_inline]] inline void MultiplyBf16(const TileShape& shape, int depth, const Tile& left,
                                                const Tile& right, Tile* sums) {
  const std::array<Row, 32> columns = ByDepth<uint16_t, 2>(depth, right, FloatOfBf16);
  for (int m = 0; m < shape.rows; ++m) {
    const auto numbers = NumbersOf<uint16_t>(left[m]);
    Row odd_and_even[2] = {};
    for (int k = 0; k < depth * 2; ++k) {
      const float number = FloatOfBf16(numbers[k]);
      Row& row = odd_and_even[k % 2];
      for (int n = 0; n < kColumns; ++n) {
        row[n] = WithoutDenormal(std::fma(number, columns[k][n], row[n]));
      }
    }
    auto total = NumbersOf<float>((*sums)[m]);
    for (int n = 0; n < kColumns; ++n) {
      const float more = WithoutDenormal(odd_and_even[0][n] + odd_and_even[1][n]);
      total[n] = WithoutDenormal(WithoutDenormal(total[n]) + more);
    }
    std::memcpy((*sums)[m].data(), total.data(), shape.row_bytes);
  }
}

// The same with wider vectors, and with fused products, which are calls without these instructions.
[[gnu::target("avx2,fma")]] void MultiplyBytesWide(const TileShape& shape, int depth,
                                                   const Tile& left, const Tile& right,
                                                   Tile* sums) {
  MultiplyBytes(shape, depth, left, right, sums);
}

[[gnu::target("avx2,fma")]] void MultiplyBf16Wide(const TileShape& shape, int depth,
                                                  const Tile& left, const Tile& right, Tile* sums) {
  MultiplyBf16(shape, depth, left, right, sums);
}

bool HasWide() {
  static const bool has = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  return has;
}

}  // namespace

void MultiplyByteTiles(const TileShape& shape, int depth, const Tile& left, const Tile& right,
                       Tile* sums) {
  (HasWide() ? MultiplyBytesWide : MultiplyBytes)(shape, depth, left, right, sums);
}

void MultiplyBf16Tiles(const TileShape& shape, int depth, const Tile& left, const Tile& right,
                       Tile* sums) {
  (HasWide() ? MultiplyBf16Wide : MultiplyBf16)(shape, depth, left, right, sums);
}

}  // namespace plait
