// Part of loops_body.h: loops over windows that move over an image in channels-last.

namespace plait {
namespace {

// Tiles of pixels of a row whose sums and a row of weights have registers: 32, or 16 of AVX2.
constexpr int kRowTileMax = kVectorFloats == 16 ? 14 : 8;

// Tiles of the same size, as nearly as the row allows: 28 pixels are two of 14, and 15 of 8 and 7.
template <typename Tiles, int kStride, typename Row, int... kFewer>
void RunTilesOfStride(const Row& row, std::integer_sequence<int, kFewer...>) {
  using Tile = void (*)(const Row& row, int64_t before);
  static constexpr Tile kTiles[] = {Tiles::template Run<kStride, kFewer + 1>...};
  int64_t tiles = (row.pixels + kRowTileMax - 1) / kRowTileMax;
  for (int64_t before = 0; before < row.pixels; --tiles) {
    const int64_t pixels = (row.pixels - before) / tiles;
    kTiles[pixels - 1](row, before);
    before += pixels;
  }
}

// Calls Tiles::Run<stride, pixels>(row, before) for tiles of a row, each of which begins behind so
// many pixels.
template <typename Tiles, typename Row>
void RunTiles(const Row& row) {
  constexpr std::make_integer_sequence<int, kRowTileMax> kFewer;
  return row.stride == 1 ? RunTilesOfStride<Tiles, 1>(row, kFewer)
                         : RunTilesOfStride<Tiles, 2>(row, kFewer);
}

// Calls take(i, tap, source) for each pixel of the source under a row of taps of a tile, a vector
// of channels of it, and for each window i that it is in. What lies side by side in an image lies
// across the lines of the first cache (44 channels are 176 bytes), and reading it costs as much as
// two multiply-adds: it is read once for all windows.
template <int kTaps, int kStride, int kPixels, typename Take>
inline void ForEachTap(const WindowRow& p, int64_t column, const float* x, const Take& take) {
#pragma GCC unroll 33
  for (int at = 0; at < (kPixels - 1) * kStride + kTaps; ++at) {
    // In the padding on one side or the other.
    if (static_cast<uint64_t>(column + at) >= static_cast<uint64_t>(p.columns)) continue;
    const LooseVector source = LoadVector(x + (column + at) * p.x_pixel_floats);
#pragma GCC unroll 14
    for (int i = 0; i < kPixels; ++i) {
      const int tap = at - i * kStride;
      if (tap >= 0 && tap < kTaps) take(i, tap, source);
    }
  }
}

// Where the vector of `channel` begins: the last one may overlap the one before it.
inline int64_t VectorAt(int64_t channel, int64_t channels) {
  return channel < channels - kVectorFloats ? channel : channels - kVectorFloats;
}

// What a pool makes of a vector of channels: begins with kBegin, takes each tap in by Add, and ends
// with End. Of: the one of a pixel of a row.
struct Largest {
  static constexpr float kBegin = -kInfinity;
  static Largest Of(const PoolRow&, int64_t) { return {}; }
  static LooseVector Add(LooseVector so_far, LooseVector x) { return x > so_far ? x : so_far; }
  LooseVector End(LooseVector so_far) const { return so_far; }
};

struct Mean {
  static constexpr float kBegin = 0;
  static Mean Of(const PoolRow& row, int64_t pixel) { return {row.divisors[pixel]}; }
  static LooseVector Add(LooseVector so_far, LooseVector x) { return so_far + x; }
  LooseVector End(LooseVector so_far) const { return so_far / divisor; }
  float divisor;
};

// So many vectors of channels of a pixel. They are read one behind the other, as the processor
// prefetches best, and not those of several pixels in turn: there are no weights to share.
template <int kVectors, typename Pool>
inline void PoolBlock(const WindowPixels& p, const Pool& pool, const float* x, float* y) {
  LooseVector results[kVectors];
#pragma GCC unroll 4
  for (int i = 0; i < kVectors; ++i) results[i] = LooseVector{} + Pool::kBegin;
  for (int64_t row = 0; row < p.taps[0]; ++row) {
    const float* tap = x + row * p.x_tap_floats[0];
    for (int64_t column = 0; column < p.taps[1]; ++column) {
#pragma GCC unroll 4
      for (int i = 0; i < kVectors; ++i) {
        results[i] = Pool::Add(results[i], LoadVector(tap + i * kVectorFloats));
      }
      tap += p.x_tap_floats[1];
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < kVectors; ++i) StoreVector(y + i * kVectorFloats, pool.End(results[i]));
}

template <typename Pool>
void PoolPixelsLoop(const WindowPixels& p, const Pool& pool) {
  constexpr int kVectors = 4;
  for (int64_t pixel = 0; pixel < p.pixels; ++pixel) {
    const float* const x = p.x + pixel * p.x_pixel_floats;
    float* const y = p.y + pixel * p.y_pixel_floats;
    int64_t channel = 0;
    for (; channel + kVectors * kVectorFloats <= p.channels; channel += kVectors * kVectorFloats) {
      PoolBlock<kVectors>(p, pool, x + channel, y + channel);
    }
    for (; channel < p.channels; channel += kVectorFloats) {
      const int64_t last = VectorAt(channel, p.channels);
      PoolBlock<1>(p, pool, x + last, y + last);
    }
  }
}

void LargestPixelsLoop(const WindowPixels& p) { PoolPixelsLoop(p, Largest()); }

void MeanPixelsLoop(const WindowPixels& p, float divisor) { PoolPixelsLoop(p, Mean{divisor}); }

template <typename Pool>
struct PoolTiles {
  template <int kStride, int kPixels>
  static void Run(const PoolRow& p, int64_t before) {
    const int64_t column = p.column + before * kStride;
    float* const y = p.y + before * p.y_pixel_floats;
    for (int64_t i = 0; i < p.channels; i += kVectorFloats) {
      const int64_t channel = VectorAt(i, p.channels);
      LooseVector results[kPixels];
#pragma GCC unroll 14
      for (int j = 0; j < kPixels; ++j) results[j] = LooseVector{} + Pool::kBegin;
      const float* x = p.x + channel;
      for (int64_t row = 0; row < p.row_taps; ++row, x += p.x_row_floats) {
        ForEachTap<3, kStride, kPixels>(p, column, x, [&](int j, int, LooseVector source) {
          results[j] = Pool::Add(results[j], source);
        });
      }
#pragma GCC unroll 14
      for (int j = 0; j < kPixels; ++j) {
        const LooseVector result = Pool::Of(p, before + j).End(results[j]);
        StoreVector(y + j * p.y_pixel_floats + channel, result);
      }
    }
  }
};

void LargestRowLoop(const PoolRow& p) { RunTiles<PoolTiles<Largest>>(p); }

void MeanRowLoop(const PoolRow& p) { RunTiles<PoolTiles<Mean>>(p); }

// So many vectors of channels of a pixel, from `channel` on. A row is summed by itself, so that its
// weight is applied once.
template <int kVectors>
inline void ResampleBlock(const ResampledPixels& p, const int64_t* offsets, const float* weights,
                          float* y, int64_t channel) {
  LooseVector results[kVectors];
#pragma GCC unroll 4
  for (int i = 0; i < kVectors; ++i) results[i] = LooseVector{};
  for (int64_t row = 0; row < p.row_taps; ++row) {
    const float* x = p.x + p.row_offsets[row] + channel;
    LooseVector sums[kVectors];
#pragma GCC unroll 4
    for (int i = 0; i < kVectors; ++i) sums[i] = LooseVector{};
    for (int64_t column = 0; column < p.column_taps; ++column) {
      const float* tap = x + offsets[column];
#pragma GCC unroll 4
      for (int i = 0; i < kVectors; ++i) {
        sums[i] += LoadVector(tap + i * kVectorFloats) * weights[column];
      }
    }
#pragma GCC unroll 4
    for (int i = 0; i < kVectors; ++i) results[i] += sums[i] * p.row_weights[row];
  }
#pragma GCC unroll 4
  for (int i = 0; i < kVectors; ++i) StoreVector(y + channel + i * kVectorFloats, results[i]);
}

// Fewer channels than a vector has.
inline void ResampleFew(const ResampledPixels& p, const int64_t* offsets, const float* weights,
                        float* y) {
  for (int64_t channel = 0; channel < p.channels; ++channel) {
    float result = 0;
    for (int64_t row = 0; row < p.row_taps; ++row) {
      const float* x = p.x + p.row_offsets[row] + channel;
      float sum = 0;
      for (int64_t column = 0; column < p.column_taps; ++column) {
        sum += x[offsets[column]] * weights[column];
      }
      result += sum * p.row_weights[row];
    }
    y[channel] = result;
  }
}

void ResampledPixelsLoop(const ResampledPixels& p) {
  constexpr int kVectors = 4;
  for (int64_t pixel = 0; pixel < p.pixels; ++pixel) {
    const int64_t* const offsets = p.column_offsets + pixel * p.column_taps;
    const float* const weights = p.column_weights + pixel * p.column_taps;
    float* const y = p.y + pixel * p.y_pixel_floats;
    if (p.channels < kVectorFloats) {
      ResampleFew(p, offsets, weights, y);
      continue;
    }
    int64_t channel = 0;
    for (; channel + kVectors * kVectorFloats <= p.channels; channel += kVectors * kVectorFloats) {
      ResampleBlock<kVectors>(p, offsets, weights, y, channel);
    }
    for (; channel < p.channels; channel += kVectorFloats) {
      const int64_t last = VectorAt(channel, p.channels);
      ResampleBlock<1>(p, offsets, weights, y, last);
    }
  }
}

}  // namespace
}  // namespace plait
