// Part of loops_body.h, behind window_loops_body.h: convolutions in groups.

// With groups of 4 channels, a vector of 16 results of a pixel is made of the 16 source channels
// beside each other: the first ones of the four groups, repeated four times each, by the weights
// that they have for the 16 results; then the second ones, and so on. With groups of 16 or more all
// results of a vector are made of the same channels, each of which is broadcast.

namespace plait {
namespace {

typedef int32_t VectorInts __attribute__((vector_size(kVectorFloats * sizeof(float))));
typedef float WholeVector __attribute__((vector_size(kVectorFloats * sizeof(float))));

// Which of a vector's channels is the first one of the group of each.
inline VectorInts GroupBegins(int64_t group_channels) {
  VectorInts begins;
  for (int i = 0; i < kVectorFloats; ++i) {
    begins[i] = i - i % static_cast<int>(group_channels);
  }
  return begins;
}

// One tap of a vector of results of so many pixels. kShuffles: groups are smaller than a vector.
template <int kPixels, bool kShuffles>
inline void AddGroupedTap(const GroupedPixels& p, const float* x, const float* weights,
                          VectorInts begins, LooseVector (&sums)[kPixels]) {
  WholeVector sources[kPixels];
  if (kShuffles) {
#pragma GCC unroll 8
    for (int i = 0; i < kPixels; ++i) sources[i] = LoadVector(x + i * p.x_pixel_floats);
  }
  for (int64_t s = 0; s < p.group_channels; ++s) {
    const LooseVector weight = LoadVector(weights + s * kVectorFloats);
#pragma GCC unroll 8
    for (int i = 0; i < kPixels; ++i) {
      if (kShuffles) {
        sums[i] += __builtin_shuffle(sources[i], begins) * weight;
      } else {
        sums[i] += x[i * p.x_pixel_floats + s] * weight;
      }
    }
    begins += 1;
  }
}

template <int kPixels, bool kShuffles>
inline void GroupedBlock(const GroupedPixels& p, int64_t pixel, int64_t vector, VectorInts begins) {
  const int64_t channel = vector * kVectorFloats;
  const int64_t source_channel = kShuffles ? channel : channel - channel % p.group_channels;
  const float* const x = p.x + pixel * p.x_pixel_floats + source_channel;
  const float* const weights = p.weights + vector * p.weights_vector_floats;
  LooseVector sums[kPixels];
  const LooseVector bias = p.bias == nullptr ? LooseVector{} : LoadVector(p.bias + channel);
#pragma GCC unroll 8
  for (int i = 0; i < kPixels; ++i) sums[i] = bias;
  for (int64_t row = 0; row < p.taps[0]; ++row) {
    const float* tap = x + row * p.x_tap_floats[0];
    const float* tap_weights = weights + row * p.weights_row_floats;
    for (int64_t column = 0; column < p.taps[1]; ++column) {
      AddGroupedTap<kPixels, kShuffles>(p, tap, tap_weights, begins, sums);
      tap += p.x_tap_floats[1];
      tap_weights += p.group_channels * kVectorFloats;
    }
  }
  float* const y = p.y + pixel * p.y_pixel_floats + channel;
#pragma GCC unroll 8
  for (int i = 0; i < kPixels; ++i) StoreVector(y + i * p.y_pixel_floats, sums[i]);
}

// A vector's weights stay in the first cache for all pixels.
template <bool kShuffles>
void GroupedPixelsOf(const GroupedPixels& p) {
  const VectorInts begins = GroupBegins(p.group_channels);
  for (int64_t vector = 0; vector < p.channels / kVectorFloats; ++vector) {
    int64_t pixel = 0;
    for (; pixel + 8 <= p.pixels; pixel += 8) {
      GroupedBlock<8, kShuffles>(p, pixel, vector, begins);
    }
    if (pixel + 4 <= p.pixels) {
      GroupedBlock<4, kShuffles>(p, pixel, vector, begins);
      pixel += 4;
    }
    for (; pixel < p.pixels; ++pixel) GroupedBlock<1, kShuffles>(p, pixel, vector, begins);
  }
}

void GroupedPixelsLoop(const GroupedPixels& p) {
  if (p.group_channels < kVectorFloats) {
    GroupedPixelsOf<true>(p);
  } else {
    GroupedPixelsOf<false>(p);
  }
}

}  // namespace
}  // namespace plait
