#include "gpu_worker/simulated_gpu/products.h"

#include <algorithm>

namespace plait::simulated_gpu {
namespace {

// 2 x 8 doubles fill half of the 16 vector registers of SSE2 and leave the others to the factors.
constexpr int64_t kRows = 2;
constexpr int64_t kColumns = 8;

// One full tile of c, which stays in registers while it goes down k.
void AddTile(int64_t n, int64_t k, const double* a, const double* b, double* c) {
  double sums[kRows][kColumns];
  for (int64_t i = 0; i < kRows; ++i) std::copy_n(c + i * n, kColumns, sums[i]);
  for (int64_t depth = 0; depth < k; ++depth) {
#pragma GCC unroll 2
    for (int64_t i = 0; i < kRows; ++i) {
      const double factor = a[i * k + depth];
#pragma GCC unroll 8
      for (int64_t j = 0; j < kColumns; ++j) sums[i][j] += factor * b[depth * n + j];
    }
  }
  for (int64_t i = 0; i < kRows; ++i) std::copy_n(sums[i], kColumns, c + i * n);
}

// What is left at the right and at the bottom.
void AddEdge(int64_t rows, int64_t columns, int64_t n, int64_t k, const double* a, const double* b,
             double* c) {
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t depth = 0; depth < k; ++depth) {
      const double factor = a[i * k + depth];
      for (int64_t j = 0; j < columns; ++j) c[i * n + j] += factor * b[depth * n + j];
    }
  }
}

}  // namespace

void MultiplyAdd(int64_t m, int64_t n, int64_t k, absl::Span<const double> a,
                 absl::Span<const double> b, absl::Span<double> c) {
  for (int64_t j = 0; j < n; j += kColumns) {
    for (int64_t i = 0; i < m; i += kRows) {
      const int64_t rows = std::min(kRows, m - i), columns = std::min(kColumns, n - j);
      double* const to = c.data() + i * n + j;
      if (rows == kRows && columns == kColumns) {
        AddTile(n, k, a.data() + i * k, b.data() + j, to);
      } else {
        AddEdge(rows, columns, n, k, a.data() + i * k, b.data() + j, to);
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
