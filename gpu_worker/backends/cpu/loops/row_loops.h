#pragma once

#include <cstdint>

namespace plait {

// What the loops of LoopTable over rows whose elements belong together are given. Nothing is owned.

// One row of a softmax: y = softmax(x * scale + mask), or its logarithm.
// With a mask of minus infinity an element gets the weight 0; if all have it, the row is NaN, and
// so is a row that contains a NaN. The largest element is subtracted, so that nothing overflows.
struct SoftmaxRow {
  const float* x;
  const float* mask;  // nullptr: none
  float* y;
  int64_t size;
  float scale;
  bool logarithm;
};

// One row of a layer normalization; scale and bias may be nullptr.
// y = (x - mean) / sqrt(variance + epsilon) * scale + bias, with the variance over `size` elements.
// A bias without a scale is ignored.
struct NormalizationRow {
  const float* x;
  const float* scale;
  const float* bias;
  float* y;
  int64_t size;
  float epsilon;
};

// Pairs (a, b) become (a cos - b sin, a sin + b cos): of neighbours when interleaved, or else of
// elements that are `pairs` apart.
struct TurnedPairs {
  const float* x;
  const float* cosines;
  const float* sines;
  float* y;
  int64_t pairs;
  bool interleaved;
};

}  // namespace plait
