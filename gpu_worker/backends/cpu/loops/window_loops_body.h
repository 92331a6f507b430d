// Part of loops_body.h: loops over windows that move over an image in channels-last.

namespace plait {
namespace {

// Anywhere in memory: no alignment is asked for.
typedef float LooseVector
    __attribute__((vector_size(kVectorFloats * sizeof(float)), aligned(4), may_alias));
inline LooseVector LoadVector(const float* x) { return *reinterpret_cast<const LooseVector*>(x); }
inline void StoreVector(float* y, LooseVector value) { *reinterpret_cast<LooseVector*>(y) = value; }

// A vector of channels of so many pixels, whose sums stay in registers: a tap's weights are read
// once for all of them.
template <int kPixels>
inline void DepthwiseBlock(const DepthwisePixels& p, const float* x, float* y, int64_t channel) {
  LooseVector sums[kPixels];
  const LooseVector bias = p.bias == nullptr ? LooseVector{} : LoadVector(p.bias + channel);
#pragma GCC unroll 8
  for (int i = 0; i < kPixels; ++i) sums[i] = bias;
  for (int64_t row = 0; row < p.taps[0]; ++row) {
    const float* tap = x + row * p.x_tap_floats[0] + channel;
    const float* weights = p.weights + row * p.weights_row_floats + channel;
    for (int64_t column = 0; column < p.taps[1]; ++column) {
      const LooseVector weight = LoadVector(weights);
#pragma GCC unroll 8
      for (int i = 0; i < kPixels; ++i) sums[i] += LoadVector(tap + i * p.x_pixel_floats) * weight;
      tap += p.x_tap_floats[1];
      weights += p.channels;
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < kPixels; ++i) {
    StoreVector(y + i * p.y_pixel_floats + channel, sums[i]);
  }
}

// All channels of so many pixels. The last vector may overlap the one before it: the same sums are
// written twice.
template <int kPixels>
void DepthwiseChannels(const DepthwisePixels& p, const float* x, float* y) {
  int64_t channel = 0;
  for (; channel + kVectorFloats <= p.channels; channel += kVectorFloats) {
    DepthwiseBlock<kPixels>(p, x, y, channel);
  }
  if (channel < p.channels) DepthwiseBlock<kPixels>(p, x, y, p.channels - kVectorFloats);
}

// Eight pixels hide the four cycles of a multiply-add on two units.
void DepthwisePixelsLoop(const DepthwisePixels& p) {
  int64_t pixel = 0;
  const auto x = [&] { return p.x + pixel * p.x_pixel_floats; };
  const auto y = [&] { return p.y + pixel * p.y_pixel_floats; };
  for (; pixel + 8 <= p.pixels; pixel += 8) DepthwiseChannels<8>(p, x(), y());
  if (pixel + 4 <= p.pixels) {
    DepthwiseChannels<4>(p, x(), y());
    pixel += 4;
  }
  if (pixel + 2 <= p.pixels) {
    DepthwiseChannels<2>(p, x(), y());
    pixel += 2;
  }
  if (pixel < p.pixels) DepthwiseChannels<1>(p, x(), y());
}

// What a pool makes of a vector of channels: begins with kBegin, takes each tap in by Add, and ends
// with End.
struct Largest {
  static constexpr float kBegin = -kInfinity;
  static LooseVector Add(LooseVector so_far, LooseVector x) { return x > so_far ? x : so_far; }
  LooseVector End(LooseVector so_far) const { return so_far; }
};

struct Mean {
  static constexpr float kBegin = 0;
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
      const int64_t last =
          channel < p.channels - kVectorFloats ? channel : p.channels - kVectorFloats;
      PoolBlock<1>(p, pool, x + last, y + last);
    }
  }
}

void LargestPixelsLoop(const WindowPixels& p) { PoolPixelsLoop(p, Largest()); }

void MeanPixelsLoop(const WindowPixels& p, float divisor) { PoolPixelsLoop(p, Mean{divisor}); }

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
      const int64_t last =
          channel < p.channels - kVectorFloats ? channel : p.channels - kVectorFloats;
      ResampleBlock<1>(p, offsets, weights, y, last);
    }
  }
}

}  // namespace
}  // namespace plait
