// Part of loops_body.h, behind window_loops_body.h: depthwise convolutions.

namespace plait {
namespace {

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

// A vector of channels of a tile.
template <int kTaps, int kStride, int kPixels>
inline void DepthwiseRowBlock(const DepthwiseRow& p, int64_t column, const float* weights,
                              const float* bias, const float* x, float* y) {
  LooseVector sums[kPixels];
  const LooseVector begin = bias == nullptr ? LooseVector{} : LoadVector(bias);
#pragma GCC unroll 14
  for (int i = 0; i < kPixels; ++i) sums[i] = begin;
  for (int64_t row = 0; row < p.row_taps; ++row) {
    LooseVector taps[kTaps];
#pragma GCC unroll 7
    for (int tap = 0; tap < kTaps; ++tap) taps[tap] = LoadVector(weights + tap * kVectorFloats);
    ForEachTap<kTaps, kStride, kPixels>(
        p, column, x, [&](int i, int tap, LooseVector source) { sums[i] += source * taps[tap]; });
    x += p.x_row_floats;
    weights += kTaps * kVectorFloats;
  }
#pragma GCC unroll 14
  for (int i = 0; i < kPixels; ++i) StoreVector(y + i * p.y_pixel_floats, sums[i]);
}

template <int kTaps>
struct DepthwiseTiles {
  template <int kStride, int kPixels>
  static void Run(const DepthwiseRow& p, int64_t before) {
    const int64_t column = p.column + before * kStride;
    float* const y = p.y + before * p.y_pixel_floats;
    const float* weights = p.weights;
    for (int64_t i = 0; i < p.channels; i += kVectorFloats, weights += p.weights_vector_floats) {
      const int64_t channel = VectorAt(i, p.channels);
      const float* const bias = p.bias == nullptr ? nullptr : p.bias + channel;
      DepthwiseRowBlock<kTaps, kStride, kPixels>(p, column, weights, bias, p.x + channel,
                                                 y + channel);
    }
  }
};

void DepthwiseRowLoop(const DepthwiseRow& row) {
  switch (row.taps) {
    case 3:
      return RunTiles<DepthwiseTiles<3>>(row);
    case 5:
      return RunTiles<DepthwiseTiles<5>>(row);
    default:
      return RunTiles<DepthwiseTiles<7>>(row);
  }
}

}  // namespace
}  // namespace plait
