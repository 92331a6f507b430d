#include "gpu_worker/backends/cpu/loops/byte_loops_vnni.h"

#if defined(__AVX512VNNI__)
#include <utility>

#include <immintrin.h>

namespace plait {
namespace {

// Bounds first, and then the nearest integer, which is the same the other way around as they are
// integers. Of a NaN the second operand of the maximum remains.
class Rounder {
 public:
  explicit Rounder(const ByteResult& result)
      : result_(result),
        lowest_(_mm512_set1_ps(static_cast<float>(result.range.lowest - result.range.zero_point))),
        highest_(
            _mm512_set1_ps(static_cast<float>(result.range.highest - result.range.zero_point))),
        zero_point_(_mm512_set1_epi32(result.range.zero_point)) {}

  // Of 16 sums from `first` on.
  __m512i Round(__m512i sums, int64_t first) const {
    const __m512i moved = _mm512_add_epi32(sums, _mm512_loadu_si512(result_.addends + first));
    const __m512 scaled =
        _mm512_mul_ps(_mm512_cvtepi32_ps(moved), _mm512_loadu_ps(result_.factors + first));
    const __m512 bounded = _mm512_min_ps(_mm512_max_ps(scaled, lowest_), highest_);
    return _mm512_add_epi32(_mm512_cvtps_epi32(bounded), zero_point_);
  }

 private:
  const ByteResult& result_;
  __m512 lowest_;
  __m512 highest_;
  __m512i zero_point_;
};

inline __m512i FourOf(const uint8_t* bytes) {
  int32_t four;
  __builtin_memcpy(&four, bytes, sizeof(four));
  return _mm512_set1_epi32(four);
}

// Sixteen columns of a row, from `first` on, or as many as there are.
inline void WriteColumns(const ByteTile& tile, const Rounder& rounder, __m512i sums, int row,
                         int first) {
  const int columns = tile.columns - first;
  const bool is_whole = columns >= kByteColumns;
  const auto mask = static_cast<__mmask16>(is_whole ? 0xffff : (1u << columns) - 1);
  if (tile.result.factors == nullptr) {
    const __m512i moved = _mm512_add_epi32(sums, _mm512_loadu_si512(tile.result.addends + first));
    _mm512_mask_storeu_epi32(tile.y[row] + 4 * first, mask, moved);
    return;
  }
  const __m128i bytes = _mm512_cvtepi32_epi8(rounder.Round(sums, first));
  uint8_t* const y = tile.y[row] + first;
  if (is_whole) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y), bytes);
  } else {
    _mm_mask_storeu_epi8(y, mask, bytes);
  }
}

// 24 sums, the weights of the four numbers and those numbers of a row fill the registers.
template <int kVectors, int kRows>
void TileOf(const ByteTile& tile) {
  __m512i sums[kRows][kVectors];
#pragma GCC unroll 12
  for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sums[row][v] = _mm512_setzero_si512();
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
  const Rounder rounder(tile.result);
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    const int first = kByteColumns * v;
#pragma GCC unroll 12
    for (int row = 0; row < kRows; ++row) {
      if (first < tile.columns) WriteColumns(tile, rounder, sums[row][v], row, first);
    }
  }
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

// Bytes of four taps that belong to one channel come to lie together: in each quarter of a vector
// the first four channels in the first result, and so on. Packing what was made of them brings the
// channels back in order.
inline void AddFourTaps(const __m512i taps[4], const int8_t* weights, __m512i sums[4]) {
  const __m512i first_low = _mm512_unpacklo_epi8(taps[0], taps[1]);
  const __m512i first_high = _mm512_unpackhi_epi8(taps[0], taps[1]);
  const __m512i last_low = _mm512_unpacklo_epi8(taps[2], taps[3]);
  const __m512i last_high = _mm512_unpackhi_epi8(taps[2], taps[3]);
  const __m512i fours[4] = {
      _mm512_unpacklo_epi16(first_low, last_low), _mm512_unpackhi_epi16(first_low, last_low),
      _mm512_unpacklo_epi16(first_high, last_high), _mm512_unpackhi_epi16(first_high, last_high)};
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    sums[i] = _mm512_dpbusd_epi32(sums[i], fours[i], _mm512_loadu_si512(weights + 64 * i));
  }
}

void DepthwisePixel(const ByteDepthwisePixel& pixel) {
  const Rounder rounder(pixel.result);
  const bool is_signed = pixel.result.range.lowest < 0;
  const __m512i flip = _mm512_set1_epi8(static_cast<char>(pixel.flip));
  const int8_t* weights = pixel.weights;
  for (int64_t first = 0; first < pixel.channels; first += kByteBlockChannels) {
    const int64_t left = pixel.channels - first;
    const __mmask64 mask = left >= kByteBlockChannels ? ~__mmask64{0} : (__mmask64{1} << left) - 1;
    __m512i sums[4] = {};
    for (int64_t tap = 0; tap < pixel.tap_count; tap += 4, weights += 4 * kByteBlockChannels) {
      __m512i taps[4];
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        const bool is_there = tap + i < pixel.tap_count;
        const int64_t at = is_there ? pixel.taps[tap + i] : 0;
        taps[i] = _mm512_maskz_loadu_epi8(is_there ? mask : 0, pixel.x + at + first);
        taps[i] = _mm512_xor_si512(taps[i], flip);
      }
      AddFourTaps(taps, weights, sums);
    }
    __m512i rounded[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) rounded[i] = rounder.Round(sums[i], first + 16 * i);
    const __m512i low = _mm512_packs_epi32(rounded[0], rounded[1]);
    const __m512i high = _mm512_packs_epi32(rounded[2], rounded[3]);
    const __m512i bytes =
        is_signed ? _mm512_packs_epi16(low, high) : _mm512_packus_epi16(low, high);
    _mm512_mask_storeu_epi8(pixel.y + first, mask, bytes);
  }
}

constexpr ByteLoops kLoops = {.tile = Tile, .depthwise_pixel = DepthwisePixel};

}  // namespace

const ByteLoops* VnniByteLoops() { return &kLoops; }

}  // namespace plait
#else
namespace plait {

const ByteLoops* VnniByteLoops() { return nullptr; }

}  // namespace plait
#endif
