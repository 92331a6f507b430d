#pragma once

#include <cstdint>

#include "optimizer/ops/shared/eval_tensor.h"

namespace plait {

// sum / count in each number type: doubles round, integers truncate towards zero, field elements
// are multiplied by the inverse of `count`, so that a mean is exact there and linear like a sum.
// REQUIRES: count > 0, and below p, or it has no inverse.
inline double Quotient(double sum, int64_t count) { return sum / static_cast<double>(count); }
inline int64_t Quotient(int64_t sum, int64_t count) { return sum / count; }
inline FieldElement Quotient(FieldElement sum, int64_t count) {
  return sum * FieldElement::FromInt(count).Inverse();
}

}  // namespace plait
