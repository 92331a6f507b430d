// The loops over numbers in planes of bf16, a part of loops_body.h: see there for how they are
// compiled and written.

namespace plait {
namespace {

// A bf16 is the upper half of a float. Half of its last place less one is added, and one more where
// the last place is odd; what then looks like an infinity and was none is one less.
inline uint32_t Bf16Of(float x) {
  constexpr uint32_t kInfinityBits = 0x7f800000;
  const uint32_t bits = __builtin_bit_cast(uint32_t, x);
  const uint32_t magnitude = bits & 0x7fffffff;
  uint32_t half = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  half = magnitude < kInfinityBits && (half & 0x7fff) == kInfinityBits >> 16 ? half - 1 : half;
  return magnitude > kInfinityBits ? bits >> 16 | 0x40 : half;
}
inline float FloatOfBf16(uint32_t half) { return __builtin_bit_cast(float, half << 16); }

// What is left of a number has as many bits fewer as its first bf16 has, so that it is exact.
template <int kPlanes>
void SplitInBf16(const float* x, int64_t size, uint16_t* first, uint16_t* second, uint16_t* third) {
#pragma omp simd
  for (int64_t i = 0; i < size; ++i) {
    float rest = x[i];
    const uint32_t half = Bf16Of(rest);
    first[i] = static_cast<uint16_t>(half);
    if (kPlanes > 1) {
      rest -= FloatOfBf16(half);
      const uint32_t next = Bf16Of(rest);
      second[i] = static_cast<uint16_t>(next);
      if (kPlanes > 2) third[i] = static_cast<uint16_t>(Bf16Of(rest - FloatOfBf16(next)));
    }
  }
}

void SplitBf16Rows(const PlaneRows& rows) {
  for (int64_t m = 0; m < rows.rows; ++m) {
    const float* const x = rows.x + m * rows.x_row_floats;
    uint16_t* planes[3] = {};
    for (int plane = 0; plane < 3 && rows.planes[plane] != nullptr; ++plane) {
      planes[plane] = reinterpret_cast<uint16_t*>(rows.planes[plane] + m * rows.stride_bytes);
      for (int64_t i = rows.size; i < rows.plane_size; ++i) planes[plane][i] = 0;
    }
    if (planes[1] == nullptr) {
      SplitInBf16<1>(x, rows.size, planes[0], planes[1], planes[2]);
    } else if (planes[2] == nullptr) {
      SplitInBf16<2>(x, rows.size, planes[0], planes[1], planes[2]);
    } else {
      SplitInBf16<3>(x, rows.size, planes[0], planes[1], planes[2]);
    }
  }
}

bool JoinBf16Sums(const Bf16Sums& tile) {
  uint32_t infinite = 0;
  for (int m = 0; m < tile.rows; ++m) {
    for (int n0 = 0; n0 < tile.columns; n0 += 16) {
      const float* const sums = tile.sums + int64_t{n0 / 16} * 256 + int64_t{m} * 16;
      float* const y = tile.y + m * tile.y_row_floats + n0;
      const int count = tile.columns - n0 < 16 ? tile.columns - n0 : 16;
#pragma omp simd reduction(| : infinite)
      for (int n = 0; n < count; ++n) {
        const uint32_t exponent = __builtin_bit_cast(uint32_t, sums[n]) & 0x7f800000;
        infinite |= exponent == 0x7f800000 ? 1u : 0u;
        y[n] = sums[n];
      }
      if (tile.bias == nullptr) continue;
      const float* const bias = tile.bias + n0;
#pragma omp simd
      for (int n = 0; n < count; ++n) y[n] += bias[n];
    }
  }
  return infinite == 0;
}

// Two places of a column are a uint32, the first in its lower half. From the smallest plane on, the
// sum of the planes is the number that they were made of, where there are three.
void AddBf16Number(const Bf16Number& number) {
  const int column_tiles = (number.columns + 15) / 16;
  for (int n0 = 0; n0 < number.columns; n0 += 16) {
    float sum[16] = {};
    for (int plane = number.planes - 1; plane >= 0; --plane) {
      uint32_t pairs[16];
      __builtin_memcpy(pairs, number.pairs + (int64_t{plane} * column_tiles + n0 / 16) * 1024,
                       sizeof(pairs));
#pragma omp simd
      for (int n = 0; n < 16; ++n) {
        sum[n] += FloatOfBf16(number.place == 0 ? pairs[n] & 0xffff : pairs[n] >> 16);
      }
    }
    const int count = number.columns - n0 < 16 ? number.columns - n0 : 16;
#pragma omp simd
    for (int n = 0; n < count; ++n) number.y[n0 + n] += number.x * sum[n];
  }
}

constexpr Bf16Loops kBf16Loops = {
    .split_rows = SplitBf16Rows, .join_sums = JoinBf16Sums, .add_number = AddBf16Number};

}  // namespace
}  // namespace plait
