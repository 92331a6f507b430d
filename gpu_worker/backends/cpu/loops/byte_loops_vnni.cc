#include "gpu_worker/backends/cpu/loops/byte_loops_vnni.h"

#if defined(__AVX512VNNI__)
#include <utility>

#include <immintrin.h>

namespace plait {
namespace {

// Sums to bytes, by narrowing with saturation: to 16 bits, where the zero point is added, and to
// signed bytes, which those without a sign become by 128 less, until the end. What is too large for
// an integer of 32 bits is bounded before; what is too small, or a NaN, becomes the lowest one.
class Rounder {
 public:
  explicit Rounder(const ByteResult& result)
      : factors_(result.factors),
        offset_(result.range.lowest < 0 ? 0 : 128),
        flip_(_mm512_set1_epi8(static_cast<char>(offset_))),
        zero_point_(_mm512_set1_epi16(static_cast<int16_t>(result.range.zero_point - offset_))),
        lowest_(_mm512_set1_epi8(static_cast<char>(result.range.lowest - offset_))),
        highest_(_mm512_set1_epi8(static_cast<char>(result.range.highest - offset_))) {}

  // Of 16 sums from `first` on.
  __m512i Round(__m512i sums, int64_t first) const {
    const __m512 scaled =
        _mm512_mul_ps(_mm512_cvtepi32_ps(sums), _mm512_loadu_ps(factors_ + first));
    // Of a NaN the second operand remains.
    return _mm512_cvtps_epi32(_mm512_min_ps(_mm512_set1_ps(16777216.0f), scaled));
  }

  // In each quarter the first four of each, the next four, and so on.
  __m512i Pack(const __m512i rounded[4]) const {
    const __m512i low = _mm512_adds_epi16(_mm512_packs_epi32(rounded[0], rounded[1]), zero_point_);
    const __m512i high = _mm512_adds_epi16(_mm512_packs_epi32(rounded[2], rounded[3]), zero_point_);
    const __m512i bytes = _mm512_packs_epi16(low, high);
    const __m512i bounded = _mm512_min_epi8(_mm512_max_epi8(bytes, lowest_), highest_);
    return _mm512_xor_si512(bounded, flip_);
  }

 private:
  const float* factors_;
  int32_t offset_;
  __m512i flip_;
  __m512i zero_point_;
  __m512i lowest_;
  __m512i highest_;
};

inline __m512i FourOf(const uint8_t* bytes) {
  int32_t four;
  __builtin_memcpy(&four, bytes, sizeof(four));
  return _mm512_set1_epi32(four);
}

// A mask of the first `count` of 64 bytes.
inline __mmask64 MaskOf(int64_t count) {
  return count >= 64 ? ~__mmask64{0} : (__mmask64{1} << count) - 1;
}

// What Rounder::Pack gives, by columns.
inline void WriteBytes(const ByteTile& tile, __m512i packed, int row) {
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  _mm512_mask_storeu_epi8(tile.y[row], MaskOf(tile.columns),
                          _mm512_permutexvar_epi32(order, packed));
}

template <int kVectors>
void WriteRow(const ByteTile& tile, const Rounder& rounder, const __m512i sums[kVectors], int row) {
  if (tile.result.factors == nullptr) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      const auto mask = static_cast<__mmask16>(MaskOf(tile.columns) >> (kByteColumns * v));
      _mm512_mask_storeu_epi32(tile.y[row] + 4 * kByteColumns * v, mask, sums[v]);
    }
    return;
  }
  __m512i rounded[4] = {};
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) rounded[v] = rounder.Round(sums[v], kByteColumns * v);
  WriteBytes(tile, rounder.Pack(rounded), row);
}

// What IntegerLoops::add does, to bytes that have not been written.
class Adder {
 public:
  Adder(const ByteResult& own, const AddedBytes& added)
      : own_lowest_(Bound(own.range.lowest, own.range)),
        own_highest_(Bound(own.range.highest, own.range)),
        lowest_(Bound(added.sum.range.lowest, added.sum.range)),
        highest_(Bound(added.sum.range.highest, added.sum.range)),
        own_scale_(_mm512_set1_ps(added.sum.terms[0].scale)),
        scale_(_mm512_set1_ps(added.sum.terms[1].scale)),
        zero_point_(_mm512_set1_epi32(added.sum.terms[1].zero_point + (added.is_signed ? 128 : 0))),
        flip_(_mm_set1_epi8(added.is_signed ? -128 : 0)),
        quotient_(_mm512_set1_ps(added.sum.scale)),
        inverse_(_mm512_set1_ps(1 / added.sum.scale)),
        // Behind an inverse that is no normal number nothing is sure.
        surely_nearest_(
            _mm512_set1_ps(added.sum.scale > 1e-30f && added.sum.scale < 1e30f ? 0.4995f : -1.0f)) {
  }

  // The integers that the sums of 16 bytes become, less their zero point.
  __m512i Add(__m512 own, __m128i bytes) const {
    const __m512 own_bounded = _mm512_min_ps(_mm512_max_ps(own, own_lowest_), own_highest_);
    const __m512i unsigned_bytes = _mm512_cvtepu8_epi32(_mm_xor_si128(bytes, flip_));
    const __m512 other = _mm512_cvtepi32_ps(_mm512_sub_epi32(unsigned_bytes, zero_point_));
    const __m512 sum =
        _mm512_add_ps(Product(Nearest(own_bounded), own_scale_), Product(other, scale_));
    // Products with the inverse are within 2^-22 of the quotients. Where all lie well away from the
    // middle between two integers, both have the same nearest one.
    const __m512 bounded = Bounded(_mm512_mul_ps(sum, inverse_));
    const __m512 nearest = Nearest(bounded);
    const __m512 distance = _mm512_abs_ps(_mm512_sub_ps(bounded, nearest));
    if (_mm512_cmp_ps_mask(distance, surely_nearest_, _CMP_NLT_UQ) == 0) {
      return _mm512_cvtps_epi32(nearest);
    }
    return _mm512_cvtps_epi32(Bounded(_mm512_div_ps(sum, quotient_)));
  }

 private:
  static __m512 Bound(int32_t bound, const ByteRange& range) {
    return _mm512_set1_ps(static_cast<float>(bound - range.zero_point));
  }

  // Rounded, which a product that is added to something need not be.
  static __m512 Product(__m512 a, __m512 b) {
    return _mm512_mul_round_ps(a, b, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }

  static __m512 Nearest(__m512 x) { return _mm512_roundscale_ps(x, 0); }

  // Of a NaN the second operand of the maximum remains.
  __m512 Bounded(__m512 x) const { return _mm512_min_ps(_mm512_max_ps(x, lowest_), highest_); }

  __m512 own_lowest_;
  __m512 own_highest_;
  __m512 lowest_;
  __m512 highest_;
  __m512 own_scale_;
  __m512 scale_;
  __m512i zero_point_;
  __m128i flip_;
  __m512 quotient_;
  __m512 inverse_;
  __m512 surely_nearest_;
};

// In a function of its own: unrolled, as others are, it would be most of a tile's code.
void WriteWithAdded(const ByteTile& tile, const __m512i* sums) {
  const Adder adder(tile.result, *tile.added);
  const Rounder rounder({nullptr, nullptr, tile.added->sum.range});
  for (int row = 0; row < tile.rows; ++row) {
    __m512i integers[4] = {};
    for (int v = 0; v < tile.vectors; ++v, ++sums) {
      const int first = kByteColumns * v;
      const auto mask = static_cast<__mmask16>(MaskOf(tile.columns) >> first);
      const __m512 own =
          _mm512_mul_ps(_mm512_cvtepi32_ps(*sums), _mm512_loadu_ps(tile.result.factors + first));
      integers[v] = adder.Add(own, _mm_maskz_loadu_epi8(mask, tile.added->rows[row] + first));
    }
    WriteBytes(tile, rounder.Pack(integers), row);
  }
}

// 24 sums, the weights of the four numbers and those numbers of a row fill the registers.
template <int kVectors, int kRows>
void TileOf(const ByteTile& tile) {
  __m512i sums[kRows][kVectors];
#pragma GCC unroll 12
  for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      sums[row][v] = _mm512_loadu_si512(tile.result.addends + kByteColumns * v);
    }
  }
  const __m512i flip = _mm512_set1_epi8(static_cast<char>(tile.flip));
  const int8_t* right = tile.right;
  for (int64_t segment = 0; segment < tile.segment_count; ++segment) {
    const uint8_t* left[kRows];
    for (int row = 0; row < kRows; ++row) left[row] = tile.left[row] + tile.segments[segment];
    for (int64_t at = 0; at < 4 * tile.quads; at += 4, right += 64 * kVectors) {
      __m512i weights[kVectors];
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) weights[v] = _mm512_loadu_si512(right + 64 * v);
#pragma GCC unroll 12
      for (int row = 0; row < kRows; ++row) {
        const __m512i four = _mm512_xor_si512(FourOf(left[row] + at), flip);
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
          sums[row][v] = _mm512_dpbusd_epi32(sums[row][v], four, weights[v]);
        }
      }
    }
  }
  if (tile.added != nullptr) return WriteWithAdded(tile, &sums[0][0]);
  const Rounder rounder(tile.result);
#pragma GCC unroll 12
  for (int row = 0; row < kRows; ++row) WriteRow<kVectors>(tile, rounder, sums[row], row);
}

template <int kVectors, int... kRows>
void TileWithVectors(const ByteTile& tile, std::integer_sequence<int, kRows...>) {
  constexpr void (*kTiles[])(const ByteTile&) = {TileOf<kVectors, kRows + 1>...};
  kTiles[tile.rows - 1](tile);
}

template <int kVectors>
void TileWithVectors(const ByteTile& tile) {
  TileWithVectors<kVectors>(tile, std::make_integer_sequence<int, ByteTileRows(kVectors)>());
}

void Tile(const ByteTile& tile) {
  static_assert(kByteTileVectorsMax == 4);
  switch (tile.vectors) {
    case 1:
      return TileWithVectors<1>(tile);
    case 2:
      return TileWithVectors<2>(tile);
    case 3:
      return TileWithVectors<3>(tile);
    default:
      return TileWithVectors<4>(tile);
  }
}

// A column of a window: its bytes of up to four lines from `first` on, so that those of a channel
// lie together: in each quarter of a vector the first four channels in the first result, and so on.
// Packing what was made of them brings the channels back in order.
inline void LoadColumn(const ByteDepthwise& pixels, int64_t first, int64_t line_count, int64_t at,
                       __mmask64 mask, __m512i flip, __m512i fours[4]) {
  __m512i lines[4] = {};
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    if (first + i >= line_count) break;
    const __m512i bytes = _mm512_maskz_loadu_epi8(mask, pixels.lines[first + i] + at);
    lines[i] = _mm512_xor_si512(bytes, flip);
  }
  const __m512i first_low = _mm512_unpacklo_epi8(lines[0], lines[1]);
  const __m512i first_high = _mm512_unpackhi_epi8(lines[0], lines[1]);
  const __m512i last_low = _mm512_unpacklo_epi8(lines[2], lines[3]);
  const __m512i last_high = _mm512_unpackhi_epi8(lines[2], lines[3]);
  fours[0] = _mm512_unpacklo_epi16(first_low, last_low);
  fours[1] = _mm512_unpackhi_epi16(first_low, last_low);
  fours[2] = _mm512_unpacklo_epi16(first_high, last_high);
  fours[3] = _mm512_unpackhi_epi16(first_high, last_high);
}

inline void AddColumn(const int8_t* weights, const __m512i fours[4], __m512i sums[4]) {
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    sums[i] = _mm512_dpbusd_epi32(sums[i], fours[i], _mm512_loadu_si512(weights + 64 * i));
  }
}

inline void StartSums(const ByteDepthwise& pixels, __m512i sums[4]) {
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) sums[i] = _mm512_loadu_si512(pixels.result.addends + 16 * i);
}

inline void WritePixel(const ByteDepthwise& pixels, const Rounder& rounder, const __m512i sums[4],
                       int64_t pixel) {
  __m512i rounded[4];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) rounded[i] = rounder.Round(sums[i], 16 * i);
  _mm512_mask_storeu_epi8(pixels.y + pixel * pixels.y_step, MaskOf(pixels.channels),
                          rounder.Pack(rounded));
}

constexpr int64_t kColumnWeights = 4 * kByteBlockChannels;  // of four lines

// Of a window of kSize lines and columns, some pixels next to each other, which share its columns.
template <int kSize, int kStride, int kPixels>
void DepthwisePixels(const ByteDepthwise& pixels, int64_t first) {
  constexpr int kColumns = (kPixels - 1) * kStride + kSize;
  const __mmask64 mask = MaskOf(pixels.channels);
  const __m512i flip = _mm512_set1_epi8(static_cast<char>(pixels.flip));
  __m512i sums[kPixels][4];
#pragma GCC unroll 4
  for (int pixel = 0; pixel < kPixels; ++pixel) StartSums(pixels, sums[pixel]);
  const int8_t* weights = pixels.weights;
#pragma GCC unroll 2
  for (int line = 0; line < kSize; line += 4, weights += kSize * kColumnWeights) {
#pragma GCC unroll 11
    for (int column = 0; column < kColumns; ++column) {
      __m512i fours[4];
      const int64_t at = first * pixels.pixel_step + column * pixels.column_step;
      LoadColumn(pixels, line, kSize, at, mask, flip, fours);
#pragma GCC unroll 4
      for (int pixel = 0; pixel < kPixels; ++pixel) {
        const int tap = column - pixel * kStride;
        if (tap >= 0 && tap < kSize) AddColumn(weights + tap * kColumnWeights, fours, sums[pixel]);
      }
    }
  }
  const Rounder rounder(pixels.result);
#pragma GCC unroll 4
  for (int pixel = 0; pixel < kPixels; ++pixel) {
    WritePixel(pixels, rounder, sums[pixel], first + pixel);
  }
}

template <int kSize, int kStride>
void DepthwiseLine(const ByteDepthwise& pixels) {
  int64_t first = 0;
  for (; first + 4 <= pixels.pixels; first += 4) DepthwisePixels<kSize, kStride, 4>(pixels, first);
  switch (pixels.pixels - first) {
    case 3:
      return DepthwisePixels<kSize, kStride, 3>(pixels, first);
    case 2:
      return DepthwisePixels<kSize, kStride, 2>(pixels, first);
    case 1:
      return DepthwisePixels<kSize, kStride, 1>(pixels, first);
    default:
      return;
  }
}

void DepthwiseOfAnyWindow(const ByteDepthwise& pixels) {
  const Rounder rounder(pixels.result);
  const __mmask64 mask = MaskOf(pixels.channels);
  const __m512i flip = _mm512_set1_epi8(static_cast<char>(pixels.flip));
  for (int64_t pixel = 0; pixel < pixels.pixels; ++pixel) {
    __m512i sums[4];
    StartSums(pixels, sums);
    const int8_t* weights = pixels.weights;
    for (int64_t line = 0; line < pixels.line_count; line += 4) {
      for (int64_t column = 0; column < pixels.columns; ++column, weights += kColumnWeights) {
        __m512i fours[4];
        const int64_t at = pixel * pixels.pixel_step + column * pixels.column_step;
        LoadColumn(pixels, line, pixels.line_count, at, mask, flip, fours);
        AddColumn(weights, fours, sums);
      }
    }
    WritePixel(pixels, rounder, sums, pixel);
  }
}

// Windows of 3 x 3 and 5 x 5 are the usual ones.
void Depthwise(const ByteDepthwise& pixels) {
  const bool is_square = pixels.line_count == pixels.columns;
  const int64_t size =
      is_square && (pixels.columns == 3 || pixels.columns == 5) ? pixels.columns : 0;
  const bool is_dense = pixels.pixel_step == pixels.column_step;
  const bool is_halved = pixels.pixel_step == 2 * pixels.column_step;
  if (size == 3 && is_dense) return DepthwiseLine<3, 1>(pixels);
  if (size == 3 && is_halved) return DepthwiseLine<3, 2>(pixels);
  if (size == 5 && is_dense) return DepthwiseLine<5, 1>(pixels);
  if (size == 5 && is_halved) return DepthwiseLine<5, 2>(pixels);
  DepthwiseOfAnyWindow(pixels);
}

constexpr ByteLoops kLoops = {.tile = Tile, .depthwise = Depthwise};

}  // namespace

const ByteLoops* VnniByteLoops() { return &kLoops; }

}  // namespace plait
#else
namespace plait {

const ByteLoops* VnniByteLoops() { return nullptr; }

}  // namespace plait
#endif
