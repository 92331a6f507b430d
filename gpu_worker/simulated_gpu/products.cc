#include "gpu_worker/simulated_gpu/products.h"

#include <algorithm>

namespace plait::simulated_gpu {
namespace {

// Rows that share one pass over b, which is more than a cache holds.
constexpr int64_t kRows = 4;

}  // namespace

void MultiplyAdd(int64_t m, int64_t n, int64_t k, absl::Span<const double> a,
                 absl::Span<const double> b, absl::Span<double> c) {
  for (int64_t first = 0; first < m; first += kRows) {
    const int64_t last = std::min(first + kRows, m);
    for (int64_t depth = 0; depth < k; ++depth) {
      const double* from = b.data() + depth * n;
      for (int64_t row = first; row < last; ++row) {
        const double factor = a[static_cast<size_t>(row * k + depth)];
        double* to = c.data() + row * n;
        for (int64_t column = 0; column < n; ++column) to[column] += factor * from[column];
      }
    }
  }
}

std::vector<double> Transposed(int64_t rows, int64_t columns, absl::Span<const double> a) {
  std::vector<double> result(a.size());
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      result[static_cast<size_t>(column * rows + row)] =
          a[static_cast<size_t>(row * columns + column)];
    }
  }
  return result;
}

}  // namespace plait::simulated_gpu
