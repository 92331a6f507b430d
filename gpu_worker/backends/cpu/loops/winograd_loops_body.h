// Part of loops_body.h: Winograd's transforms of tiles.

// One axis of F(4, 3), which makes 4 numbers of a row of the result of 6 numbers d of the source
// and 3 of the window. The product of two polynomials of degree 3 and 2 is known from its values at
// six points, which are 0, a, -a, b, -b and infinity. With e = d4 - b^2 d2 and f = d3 - b^2 d1 the
// elements of a and -a are e + a f and e - a f, and those of b and -b likewise with a for b.
// Of the result, y0 adds all elements but the last, y1 the differences of each pair times its
// point, and so on with the point's square and cube.

namespace plait {
namespace {

template <int kOutputs>
struct WinogradAxis;

// F(2, 3): the points 0, 1, -1 and infinity.
template <>
struct WinogradAxis<2> {
  static void Transform(const LooseVector (&d)[4], LooseVector (&t)[4]) {
    t[0] = d[0] - d[2];
    t[1] = d[2] + d[1];
    t[2] = d[2] - d[1];
    t[3] = d[3] - d[1];
  }

  static void Invert(const LooseVector (&m)[4], LooseVector (&y)[2]) {
    y[0] = m[0] + (m[1] + m[2]);
    y[1] = (m[1] - m[2]) + m[3];
  }
};

// F(4, 3).
template <>
struct WinogradAxis<4> {
  static constexpr float kA = kWinogradPoints[0];
  static constexpr float kB = kWinogradPoints[1];

  static void Transform(const LooseVector (&d)[6], LooseVector (&t)[6]) {
    t[0] = d[4] - d[2] * (kA * kA + kB * kB) + d[0] * (kA * kA * kB * kB);
    const LooseVector even_a = d[4] - d[2] * (kB * kB);
    const LooseVector odd_a = d[3] - d[1] * (kB * kB);
    t[1] = even_a + odd_a * kA;
    t[2] = even_a - odd_a * kA;
    const LooseVector even_b = d[4] - d[2] * (kA * kA);
    const LooseVector odd_b = d[3] - d[1] * (kA * kA);
    t[3] = even_b + odd_b * kB;
    t[4] = even_b - odd_b * kB;
    t[5] = d[5] - d[3] * (kA * kA + kB * kB) + d[1] * (kA * kA * kB * kB);
  }

  static void Invert(const LooseVector (&m)[6], LooseVector (&y)[4]) {
    const LooseVector sum_a = m[1] + m[2];
    const LooseVector difference_a = m[1] - m[2];
    const LooseVector sum_b = m[3] + m[4];
    const LooseVector difference_b = m[3] - m[4];
    y[0] = m[0] + sum_a + sum_b;
    y[1] = difference_a * kA + difference_b * kB;
    y[2] = sum_a * (kA * kA) + sum_b * (kB * kB);
    y[3] = difference_a * (kA * kA * kA) + difference_b * (kB * kB * kB) + m[5];
  }
};

typedef int32_t LooseInts
    __attribute__((vector_size(kVectorFloats * sizeof(float)), aligned(4), may_alias));
inline LooseVector MagnitudeOf(LooseVector x) {
  return reinterpret_cast<LooseVector>(reinterpret_cast<LooseInts>(x) & 0x7fffffff);
}

struct VectorMagnitudes {
  LooseVector largest = {};
  LooseVector sum = {};
};

// A vector of channels. Columns first, whose results are kept.
template <int kOutputs>
inline void WinogradPixelsBlock(const WinogradPixels& p, int64_t channel, VectorMagnitudes& seen) {
  constexpr int kSize = kOutputs + 2;
  LooseVector kept[kSize][kSize];
  LooseVector from[kSize];
  LooseVector to[kSize];
#pragma GCC unroll 6
  for (int column = 0; column < kSize; ++column) {
#pragma GCC unroll 6
    for (int row = 0; row < kSize; ++row) {
      const float* const pixel = p.x[row * kSize + column];
      from[row] = pixel == nullptr ? LooseVector{} : LoadVector(pixel + channel);
      const LooseVector magnitude = MagnitudeOf(from[row]);
      seen.largest = magnitude > seen.largest ? magnitude : seen.largest;
      seen.sum += magnitude;
    }
    WinogradAxis<kOutputs>::Transform(from, to);
#pragma GCC unroll 6
    for (int row = 0; row < kSize; ++row) kept[row][column] = to[row];
  }
  float* y = p.y + channel;
#pragma GCC unroll 6
  for (int row = 0; row < kSize; ++row) {
    WinogradAxis<kOutputs>::Transform(kept[row], to);
#pragma GCC unroll 6
    for (int column = 0; column < kSize; ++column) {
      *reinterpret_cast<LooseVector*>(y) = to[column];
      y += p.y_element_floats;
    }
  }
}

// The last vector may overlap the one before it: the same numbers are written twice.
template <int kOutputs>
Magnitudes WinogradPixelsLoop(const WinogradPixels& p) {
  VectorMagnitudes seen;
  int64_t channel = 0;
  for (; channel + kVectorFloats <= p.channels; channel += kVectorFloats) {
    WinogradPixelsBlock<kOutputs>(p, channel, seen);
  }
  if (channel < p.channels) WinogradPixelsBlock<kOutputs>(p, p.channels - kVectorFloats, seen);
  Magnitudes all = {0, 0};
  for (int i = 0; i < kVectorFloats; ++i) {
    all.largest = seen.largest[i] > all.largest ? seen.largest[i] : all.largest;
    all.sum += seen.sum[i];
  }
  return all;
}

// Adds zeros to `zeros`, or NaNs where a number is not finite.
template <int kOutputs>
inline void WinogradSumsBlock(const WinogradSums& p, int64_t channel, LooseVector& zeros) {
  constexpr int kSize = kOutputs + 2;
  LooseVector kept[kOutputs][kSize];
  LooseVector from[kSize];
  LooseVector to[kOutputs];
#pragma GCC unroll 6
  for (int column = 0; column < kSize; ++column) {
#pragma GCC unroll 6
    for (int row = 0; row < kSize; ++row) {
      from[row] = LoadVector(p.x + (row * kSize + column) * p.x_element_floats + channel);
    }
    WinogradAxis<kOutputs>::Invert(from, to);
#pragma GCC unroll 6
    for (int row = 0; row < kOutputs; ++row) kept[row][column] = to[row];
  }
  const LooseVector bias = p.bias == nullptr ? LooseVector{} : LoadVector(p.bias + channel);
  const LooseVector lowest = LooseVector{} + p.lowest;
  const LooseVector highest = LooseVector{} + p.highest;
#pragma GCC unroll 6
  for (int row = 0; row < kOutputs; ++row) {
    WinogradAxis<kOutputs>::Invert(kept[row], to);
#pragma GCC unroll 6
    for (int column = 0; column < kOutputs; ++column) {
      LooseVector sum = to[column] + bias;
      zeros += sum * 0.0f;
      sum = sum < lowest ? lowest : sum;
      sum = sum > highest ? highest : sum;
      float* const pixel = p.y[row * kOutputs + column];
      if (pixel != nullptr) *reinterpret_cast<LooseVector*>(pixel + channel) = sum;
    }
  }
}

template <int kOutputs>
bool WinogradSumsLoop(const WinogradSums& p) {
  LooseVector zeros = {};
  int64_t channel = 0;
  for (; channel + kVectorFloats <= p.channels; channel += kVectorFloats) {
    WinogradSumsBlock<kOutputs>(p, channel, zeros);
  }
  if (channel < p.channels) WinogradSumsBlock<kOutputs>(p, p.channels - kVectorFloats, zeros);
  float sum = 0;
  for (int i = 0; i < kVectorFloats; ++i) sum += zeros[i];
  return sum == 0;
}

}  // namespace
}  // namespace plait
