// Part of loops_body.h: loops over windows that move over an image in channels-last.

namespace plait {
namespace {

// Anywhere in memory: no alignment is asked for.
typedef float LooseVector
    __attribute__((vector_size(kVectorFloats * sizeof(float)), aligned(4), may_alias));
inline LooseVector LoadVector(const float* x) { return *reinterpret_cast<const LooseVector*>(x); }

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
    *reinterpret_cast<LooseVector*>(y + i * p.channels + channel) = sums[i];
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
  const auto y = [&] { return p.y + pixel * p.channels; };
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

}  // namespace
}  // namespace plait
