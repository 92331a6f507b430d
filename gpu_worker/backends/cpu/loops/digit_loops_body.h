// The loops over numbers in digits, a part of loops_body.h: see there for how they are compiled and
// written.

namespace plait {
namespace {

// The vectorized reduction loses NaNs, as in MaximumOf.
float LargestMagnitude(const float* x, int64_t size) {
  float best = 0;
  int32_t nans = 0;
#pragma omp simd reduction(max : best) reduction(+ : nans)
  for (int64_t i = 0; i < size; ++i) {
    const float magnitude = __builtin_fabsf(x[i]);
    best = magnitude > best ? magnitude : best;
    nans += x[i] != x[i] ? 1 : 0;
  }
  return nans > 0 ? __builtin_nanf("") : best;
}

// The nearest whole number, which has at most 24 bits, has the digits: with a half of 256 added at
// each place its bytes are the digits, each with that half added, which is its highest bit turned.
inline int32_t BytesOf(float scaled, int32_t halves) {
  return static_cast<int32_t>(scaled + __builtin_copysignf(0.5f, scaled)) + halves;
}
inline int8_t DigitOf(int32_t bytes, int place) {
  return static_cast<int8_t>(static_cast<uint8_t>((bytes >> place) ^ 0x80));
}

void SplitInTwo(const float* x, float factor, int64_t size, int8_t* first, int8_t* second) {
#pragma omp simd
  for (int64_t i = 0; i < size; ++i) {
    const int32_t bytes = BytesOf(x[i] * factor, 0x8080);
    first[i] = DigitOf(bytes, 8);
    second[i] = DigitOf(bytes, 0);
  }
}

void SplitInThree(const float* x, float factor, int64_t size, int8_t* first, int8_t* second,
                  int8_t* third) {
#pragma omp simd
  for (int64_t i = 0; i < size; ++i) {
    const int32_t bytes = BytesOf(x[i] * factor, 0x808080);
    first[i] = DigitOf(bytes, 16);
    second[i] = DigitOf(bytes, 8);
    third[i] = DigitOf(bytes, 0);
  }
}

// Beyond these a scale, or what is divided by it, is no normal number. NaN is not within them.
float DigitScale(float largest) {
  if (largest == 0) return 0;
  return largest >= 1e-30f && largest < kInfinity ? largest / 127.0f : kNoDigitScale;
}

void SplitRows(const DigitRows& rows) {
  const float weight = rows.digits[2] == nullptr ? 256.0f : 65536.0f;
  for (int64_t m = 0; m < rows.rows; ++m) {
    const float* const x = rows.x + m * rows.x_row_floats;
    float scale = rows.common_scale;
    if (scale == 0) rows.scales[m] = scale = DigitScale(LargestMagnitude(x, rows.size));
    const int64_t size = scale > 0 ? rows.size : 0;
    const float factor = scale > 0 ? weight / scale : 0;
    int8_t* digits[3] = {};
    for (int plane = 0; plane < 3 && rows.digits[plane] != nullptr; ++plane) {
      digits[plane] = rows.digits[plane] + m * rows.digits_stride;
      for (int64_t i = size; i < rows.digits_size; ++i) digits[plane][i] = 0;
    }
    if (digits[2] == nullptr) {
      SplitInTwo(x, factor, size, digits[0], digits[1]);
    } else {
      SplitInThree(x, factor, size, digits[0], digits[1], digits[2]);
    }
  }
}

// Sixteen columns of one row: the lightest level first, so that little is rounded.
inline void JoinSixteen(const int32_t* sums, int64_t level_numbers, int levels, float* joined) {
  constexpr float kLevelWeight = 1.0f / 256.0f;
#pragma omp simd
  for (int n = 0; n < 16; ++n) {
    joined[n] = static_cast<float>(sums[(levels - 1) * level_numbers + n]);
  }
  for (int level = levels - 2; level >= 0; --level) {
#pragma omp simd
    for (int n = 0; n < 16; ++n) {
      joined[n] = joined[n] * kLevelWeight + static_cast<float>(sums[level * level_numbers + n]);
    }
  }
}

void JoinSums(const DigitSums& tile) {
  const int column_tiles = (tile.columns + 15) / 16;
  for (int m = 0; m < tile.rows; ++m) {
    const float row_scale = tile.row_scales[m];
    for (int n0 = 0; n0 < tile.columns; n0 += 16) {
      const int32_t* const sums =
          tile.sums + (int64_t{m / 16} * column_tiles + n0 / 16) * 256 + m % 16 * 16;
      float joined[16];
      JoinSixteen(sums, tile.level_numbers, tile.levels, joined);
      float* const y = tile.y + m * tile.y_row_floats + n0;
      const float* const scales = tile.column_scales + n0;
      const int count = tile.columns - n0 < 16 ? tile.columns - n0 : 16;
      if (tile.bias == nullptr) {
#pragma omp simd
        for (int n = 0; n < count; ++n) y[n] = joined[n] * (row_scale * scales[n]);
      } else {
        const float* const bias = tile.bias + n0;
#pragma omp simd
        for (int n = 0; n < count; ++n) y[n] = joined[n] * (row_scale * scales[n]) + bias[n];
      }
    }
  }
}

}  // namespace
}  // namespace plait
