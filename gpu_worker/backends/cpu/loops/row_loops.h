#pragma once

#include <cstdint>

namespace plait {

// What the loops of LoopTable over rows are given. Nothing is owned.

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

// Of a part of a longer row, which becomes the softmax of its own elements (`logarithm` is not
// read): the largest of them as they are scaled and masked, and the sum of their exponentials, from
// which that largest one was subtracted. A part of nothing but minus infinity becomes zeros, and
// has a sum of 0; with a NaN in the part, the sum is NaN.
struct SoftmaxPart {
  float largest;
  float sum;
};

// A few rows, by a matrix that is read where it lies: y[m][n] = sum over k of left[m][k] * right's
// element for k and n.
struct RowsProduct {
  const float* const* left;  // by row
  int64_t rows;
  int64_t depth;
  const float* right;
  int64_t right_row_floats;  // from one row of what lies there to the next
  int64_t columns;
  float* const* y;  // by row
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
