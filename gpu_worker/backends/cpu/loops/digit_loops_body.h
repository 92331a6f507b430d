// The loops over numbers in digits, a part of loops_body.h: see there for how they are compiled and
// written.

namespace plait {
namespace {

// The vectorized maximum loses NaNs, and the sum does not.
Magnitudes MagnitudesOf(const float* x, int64_t size) {
  float largest = 0;
  float sum = 0;
#pragma omp simd reduction(max : largest) reduction(+ : sum)
  for (int64_t i = 0; i < size; ++i) {
    const float magnitude = __builtin_fabsf(x[i]);
    largest = magnitude > largest ? magnitude : largest;
    sum += magnitude;
  }
  return {sum == sum ? largest : sum, sum};
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

UsualMagnitudes UsualMagnitudesOf(const float* x, int64_t size, float limit) {
  float sum = 0;
  float count = 0;
#pragma omp simd reduction(+ : sum, count)
  for (int64_t i = 0; i < size; ++i) {
    const float magnitude = __builtin_fabsf(x[i]);
    sum += magnitude > limit ? 0.0f : magnitude;
    count += magnitude > limit ? 0.0f : 1.0f;
  }
  return {sum, count};
}

// Notes the numbers above the limit; false when they are too many. The largest of the others. Most
// pieces of a row have none.
bool FindOutliers(const float* x, const PlaneRows& rows, float limit, int32_t* outliers,
                  int32_t* count, float* largest) {
  constexpr int64_t kPiece = 64;
  *count = 0;
  *largest = 0;
  for (int64_t begin = 0; begin < rows.size; begin += kPiece) {
    const int64_t end = begin + kPiece < rows.size ? begin + kPiece : rows.size;
    const float of_piece = MagnitudesOf(x + begin, end - begin).largest;
    if (of_piece <= limit) {
      *largest = of_piece > *largest ? of_piece : *largest;
      continue;
    }
    for (int64_t i = begin; i < end; ++i) {
      const float magnitude = __builtin_fabsf(x[i]);
      if (magnitude <= limit) {
        *largest = magnitude > *largest ? magnitude : *largest;
      } else if (*count == rows.outliers_max) {
        return false;
      } else {
        outliers[(*count)++] = static_cast<int32_t>(i);
      }
    }
  }
  return true;
}

// The largest magnitude without a row's outliers, which are noted.
float MagnitudeWithoutOutliers(const float* x, const PlaneRows& rows, int32_t* outliers,
                               int32_t* count) {
  const Magnitudes all = MagnitudesOf(x, rows.size);
  const float mean = all.sum / static_cast<float>(rows.size);
  *count = 0;
  if (!(all.largest > kOutlierMeans * mean) || all.largest == kInfinity) return all.largest;
  const UsualMagnitudes usual = UsualMagnitudesOf(x, rows.size, 2 * mean);
  float limit = kOutlierUsuals * usual.sum / usual.count;
  if (limit == 0) return all.largest;
  for (; all.largest > limit; limit *= 2) {
    float largest = 0;
    if (FindOutliers(x, rows, limit, outliers, count, &largest)) return largest;
  }
  *count = 0;
  return all.largest;
}

void SplitRow(const PlaneRows& rows, int64_t m, float scale) {
  const float weight = rows.planes[2] == nullptr ? 256.0f : 65536.0f;
  const float* const x = rows.x + m * rows.x_row_floats;
  const int64_t size = scale > 0 ? rows.size : 0;
  const float factor = scale > 0 ? weight / scale : 0;
  int8_t* digits[3] = {};
  for (int plane = 0; plane < 3 && rows.planes[plane] != nullptr; ++plane) {
    digits[plane] = reinterpret_cast<int8_t*>(rows.planes[plane] + m * rows.stride_bytes);
    for (int64_t i = size; i < rows.plane_size; ++i) digits[plane][i] = 0;
  }
  if (digits[2] == nullptr) {
    SplitInTwo(x, factor, size, digits[0], digits[1]);
  } else {
    SplitInThree(x, factor, size, digits[0], digits[1], digits[2]);
  }
}

void SplitRows(const PlaneRows& rows) {
  for (int64_t m = 0; m < rows.rows; ++m) {
    if (rows.common_scale > 0) {
      SplitRow(rows, m, rows.common_scale);
      continue;
    }
    const float* const x = rows.x + m * rows.x_row_floats;
    if (rows.outliers == nullptr) {
      rows.scales[m] = DigitScale(MagnitudesOf(x, rows.size).largest);
      SplitRow(rows, m, rows.scales[m]);
      continue;
    }
    int32_t* const outliers = rows.outliers + m * rows.outliers_max;
    int32_t* const count = rows.outlier_counts + m;
    rows.scales[m] = DigitScale(MagnitudeWithoutOutliers(x, rows, outliers, count));
    SplitRow(rows, m, rows.scales[m]);
    for (int32_t i = 0; i < *count; ++i) {
      for (int plane = 0; plane < 3 && rows.planes[plane] != nullptr; ++plane) {
        rows.planes[plane][m * rows.stride_bytes + outliers[i]] = std::byte{0};
      }
    }
  }
}

// Four digits of a column are an int32: the wanted one is shifted to its top and back.
inline void AddDigits(const int8_t* digits, int place, float weight, float* sum) {
  int32_t four[16];
  __builtin_memcpy(four, digits, sizeof(four));
#pragma omp simd
  for (int n = 0; n < 16; ++n) {
    const auto up = static_cast<int32_t>(static_cast<uint32_t>(four[n]) << (24 - 8 * place));
    sum[n] = sum[n] * weight + static_cast<float>(up >> 24);
  }
}

void AddNumber(const DigitNumber& number) {
  const int column_tiles = (number.columns + 15) / 16;
  for (int n0 = 0; n0 < number.columns; n0 += 16) {
    float sum[16] = {};
    AddDigits(number.rests + int64_t{n0 / 16} * 1024, number.place, 1, sum);
    for (int plane = number.planes - 1; plane >= 0; --plane) {
      const bool is_last = plane == number.planes - 1;
      AddDigits(number.digits + (int64_t{plane} * column_tiles + n0 / 16) * 1024, number.place,
                is_last ? 1.0f / 128.0f : 1.0f / 256.0f, sum);
    }
    const int count = number.columns - n0 < 16 ? number.columns - n0 : 16;
#pragma omp simd
    for (int n = 0; n < count; ++n) {
      number.y[n0 + n] += number.x * (sum[n] * number.scales[n0 + n]);
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
          tile.sums + (int64_t{m / 16} * column_tiles + n0 / 16) * 256 + int64_t{m % 16} * 16;
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
