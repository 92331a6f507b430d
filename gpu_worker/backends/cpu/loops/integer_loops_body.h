// The loops over integers of 8 and 16 bits, a part of loops_body.h: see there for how they are
// compiled and written. Behind window_loops_body.h, whose vectors' width they have.

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace plait {
namespace {

typedef int32_t IntegerVector
    __attribute__((vector_size(kVectorFloats * sizeof(int32_t)), aligned(4), may_alias));
inline IntegerVector LoadIntegers(const void* x) {
  return *reinterpret_cast<const IntegerVector*>(x);
}

// sums + the products of both 16-bit halves of each element of a and b. Of numbers from -255 to 255
// the two products and their sum fit.
inline IntegerVector AddPairs(IntegerVector sums, IntegerVector a, IntegerVector b) {
#if defined(__AVX512BW__)
  return sums + reinterpret_cast<IntegerVector>(
                    _mm512_madd_epi16(reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
#elif defined(__AVX2__)
  return sums + reinterpret_cast<IntegerVector>(
                    _mm256_madd_epi16(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
#elif defined(__SSE2__)
  return sums + reinterpret_cast<IntegerVector>(
                    _mm_madd_epi16(reinterpret_cast<__m128i>(a), reinterpret_cast<__m128i>(b)));
#else
  const IntegerVector low = ((a << 16) >> 16) * ((b << 16) >> 16);
  return sums + low + (a >> 16) * (b >> 16);
#endif
}

// One tile with so many rows: twelve sums of AVX2 leave registers for two vectors on the right and
// the pair on the left.
template <int kRows>
void IntegerTileOf(const IntegerTile& tile) {
  IntegerVector sums[kRows][2] = {};
  const int16_t* right = tile.right;
  for (int64_t segment = 0; segment < tile.segment_count; ++segment) {
    const int64_t begin = tile.segments == nullptr ? 0 : tile.segments[segment];
    const int16_t* left[kRows];
    for (int row = 0; row < kRows; ++row) left[row] = tile.left[row] + begin;
    for (int64_t pair = 0; pair < tile.pairs; ++pair, right += 4 * kVectorFloats) {
      const IntegerVector b0 = LoadIntegers(right);
      const IntegerVector b1 = LoadIntegers(right + 2 * kVectorFloats);
#pragma GCC unroll 6
      for (int row = 0; row < kRows; ++row) {
        int32_t both;
        __builtin_memcpy(&both, left[row] + 2 * pair, sizeof(both));
        const IntegerVector a = both - IntegerVector{};
        sums[row][0] = AddPairs(sums[row][0], a, b0);
        sums[row][1] = AddPairs(sums[row][1], a, b1);
      }
    }
  }
  for (int row = 0; row < kRows; ++row) {
    __builtin_memcpy(tile.sums + row * tile.sums_row_numbers, sums[row], sizeof(sums[row]));
  }
}

void IntegerTileLoop(const IntegerTile& tile) {
  static_assert(kIntegerTileRowsMax == 6);
  switch (tile.rows) {
    case 1:
      return IntegerTileOf<1>(tile);
    case 2:
      return IntegerTileOf<2>(tile);
    case 3:
      return IntegerTileOf<3>(tile);
    case 4:
      return IntegerTileOf<4>(tile);
    case 5:
      return IntegerTileOf<5>(tile);
    default:
      return IntegerTileOf<6>(tile);
  }
}

typedef int16_t ShortVector
    __attribute__((vector_size(kVectorFloats * sizeof(int16_t)), aligned(2), may_alias));
inline IntegerVector Widened(const int16_t* x) {
  return __builtin_convertvector(*reinterpret_cast<const ShortVector*>(x), IntegerVector);
}

void IntegerDepthwiseLoop(const IntegerDepthwisePixel& pixel) {
  int64_t c = 0;
  for (; c + 2 * kVectorFloats <= pixel.channels; c += 2 * kVectorFloats) {
    IntegerVector sums[2] = {};
    for (int64_t tap = 0; tap < pixel.tap_count; ++tap) {
      const int16_t* const x = pixel.x + pixel.taps[tap] + c;
      const int16_t* const weights = pixel.weights + tap * pixel.channels + c;
      sums[0] += Widened(x) * Widened(weights);
      sums[1] += Widened(x + kVectorFloats) * Widened(weights + kVectorFloats);
    }
    __builtin_memcpy(pixel.sums + c, sums, sizeof(sums));
  }
  for (; c < pixel.channels; ++c) {
    int32_t sum = 0;
    for (int64_t tap = 0; tap < pixel.tap_count; ++tap) {
      sum += pixel.x[pixel.taps[tap] + c] * pixel.weights[tap * pixel.channels + c];
    }
    pixel.sums[c] = sum;
  }
}

// Bounds first, and then the nearest integer, which is the same the other way around as they are
// integers. The comparison lets no NaN through. 1.5 * 2^23: see Exponential.
inline int32_t NearestWithin(float x, float lowest, float highest) {
  float bounded = x > lowest ? x : lowest;
  bounded = bounded < highest ? bounded : highest;
  return static_cast<int32_t>((bounded + 12582912.0f) - 12582912.0f);
}

// The range is a value: behind a reference a byte that is written might be a part of it, and no
// compiler would take several at once.
void QuantizeRow(const float* x, int64_t size, float scale, ByteRange range, uint8_t* y) {
  const auto lowest = static_cast<float>(range.lowest - range.zero_point);
  const auto highest = static_cast<float>(range.highest - range.zero_point);
#pragma omp simd
  for (int64_t i = 0; i < size; ++i) {
    y[i] = static_cast<uint8_t>(NearestWithin(x[i] / scale, lowest, highest) + range.zero_point);
  }
}

void RequantizeRow(const int32_t* sums, const int32_t* bias, const float* factors, int64_t size,
                   ByteRange range, uint8_t* y) {
  const auto lowest = static_cast<float>(range.lowest - range.zero_point);
  const auto highest = static_cast<float>(range.highest - range.zero_point);
  const auto byte = [&](uint32_t sum, float factor) {
    const float scaled = static_cast<float>(static_cast<int32_t>(sum)) * factor;
    return static_cast<uint8_t>(NearestWithin(scaled, lowest, highest) + range.zero_point);
  };
  // Modulo 2^32, as sums are.
  if (bias == nullptr) {
#pragma omp simd
    for (int64_t i = 0; i < size; ++i) y[i] = byte(static_cast<uint32_t>(sums[i]), factors[i]);
    return;
  }
#pragma omp simd
  for (int64_t i = 0; i < size; ++i) {
    y[i] = byte(static_cast<uint32_t>(sums[i]) + static_cast<uint32_t>(bias[i]), factors[i]);
  }
}

template <typename T>
void DequantizeRow(const uint8_t* x, int64_t size, float scale, int32_t zero_point, float* y) {
#pragma omp simd
  for (int64_t i = 0; i < size; ++i) {
    y[i] = static_cast<float>(static_cast<T>(x[i]) - zero_point) * scale;
  }
}

// By way of memory, so that no product becomes a part of a multiply-add: each is rounded, as where
// others dequantize.
template <typename A, typename B>
void AddRow(const uint8_t* a, const uint8_t* b, int64_t size, ByteSum sum, uint8_t* y) {
  constexpr int64_t kPiece = 256;
  float numbers[2][kPiece];
  for (int64_t begin = 0; begin < size; begin += kPiece) {
    const int64_t count = size - begin < kPiece ? size - begin : kPiece;
    DequantizeRow<A>(a + begin, count, sum.terms[0].scale, sum.terms[0].zero_point, numbers[0]);
    DequantizeRow<B>(b + begin, count, sum.terms[1].scale, sum.terms[1].zero_point, numbers[1]);
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) numbers[0][i] += numbers[1][i];
    QuantizeRow(numbers[0], count, sum.scale, sum.range, y + begin);
  }
}

// In as many vectors as an instruction set needs for 64 bytes.
typedef uint8_t ByteBlock __attribute__((vector_size(64)));
typedef int8_t SignedByteBlock __attribute__((vector_size(64)));

// Of `count` channels from `first` on. Copies, since bytes may lie anywhere.
template <typename Block>
inline void LargestOf(const BytePixel& pixel, int64_t first, int64_t count) {
  Block largest = {};
  for (int64_t tap = 0; tap < pixel.tap_count; ++tap) {
    Block bytes = {};
    __builtin_memcpy(&bytes, pixel.x + pixel.taps[tap] + first, count);
    largest = tap == 0 ? bytes : (bytes > largest ? bytes : largest);
  }
  __builtin_memcpy(pixel.y + first, &largest, count);
}

template <typename Block>
void LargestPixelLoop(const BytePixel& pixel) {
  constexpr int64_t kBlock = sizeof(Block);
  int64_t first = 0;
  for (; first + kBlock <= pixel.channels; first += kBlock) LargestOf<Block>(pixel, first, kBlock);
  if (first < pixel.channels) LargestOf<Block>(pixel, first, pixel.channels - first);
}

template <typename T>
void WidenRow(const uint8_t* x, int64_t size, int32_t zero_point, int16_t* y) {
#pragma omp simd
  for (int64_t i = 0; i < size; ++i) {
    y[i] = static_cast<int16_t>(static_cast<T>(x[i]) - zero_point);
  }
}

constexpr IntegerLoops kIntegerLoops = {
    .tile = IntegerTileLoop,
    .depthwise_pixel = IntegerDepthwiseLoop,
    .quantize = QuantizeRow,
    .requantize = RequantizeRow,
    .dequantize = {DequantizeRow<uint8_t>, DequantizeRow<int8_t>},
    .add = {{AddRow<uint8_t, uint8_t>, AddRow<uint8_t, int8_t>},
            {AddRow<int8_t, uint8_t>, AddRow<int8_t, int8_t>}},
    .largest_pixel = {LargestPixelLoop<ByteBlock>, LargestPixelLoop<SignedByteBlock>},
    .widen = {WidenRow<uint8_t>, WidenRow<int8_t>},
};

}  // namespace
}  // namespace plait
