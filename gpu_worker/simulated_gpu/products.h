#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace plait::simulated_gpu {

// c[m,n] += a[m,k] b[k,n]. The terms of a sum are added in the order of k.
void MultiplyAdd(int64_t m, int64_t n, int64_t k, absl::Span<const double> a,
                 absl::Span<const double> b, absl::Span<double> c);

// b[columns,rows] of a[rows,columns].
std::vector<double> Transposed(int64_t rows, int64_t columns, absl::Span<const double> a);

}  // namespace plait::simulated_gpu
