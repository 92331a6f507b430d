#pragma once

#include <cstdint>

#include "optimizer/ops/shared/eval_tensor.h"

namespace plait {

// sum / count in each number type; integers truncate. REQUIRES: count > 0.
inline double Quotient(double sum, int64_t count) { return sum / static_cast<double>(count); }
inline int64_t Quotient(int64_t sum, int64_t count) { return sum / count; }
inline FieldElement Quotient(FieldElement sum, int64_t count) {
  return sum * FieldElement::FromInt(count).Inverse();
}

}  // namespace plait
