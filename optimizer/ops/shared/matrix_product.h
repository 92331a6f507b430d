#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

// The one inner loop of reference evaluation: MatMul, Gemm, Conv (as the product of its weights
// with the unfolded input) and Attention. Every other loop may be slow.
namespace plait {

// a * b + sum, where 64-bit integers wrap: narrower ones are wrapped by whoever rounds the result,
// which gives the same bits. T is double, int64_t or FieldElement.
template <typename T>
T MultiplyAdd(T a, T b, T sum) {
  if constexpr (std::is_same_v<T, int64_t>) {
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b) +
                          static_cast<uint64_t>(sum));
  } else {
    return a * b + sum;
  }
}

// A view of a row-major matrix; row r starts at values + r * row_stride. A stride larger than
// `columns` makes it a part of a larger matrix. Does not own its values.
template <typename T>
struct Matrix {
  T* values;
  int64_t rows;
  int64_t columns;
  int64_t row_stride;
};

// Tiles and what they leave over; AddProduct below is what others call.
namespace matrix_product_internal {

// 4 x 8 doubles fill half of the 16 vector registers of AVX2 and leave the others to the factors.
constexpr int64_t kTileRows = 4;
constexpr int64_t kTileColumns = 8;

// Sums stay in an array of constant size, which compilers keep in registers.
// One full tile of c, held in registers while it runs down the shared dimension.
template <typename T>
void AddTile(Matrix<const T> a, Matrix<const T> b, Matrix<T> c) {
  T sums[kTileRows][kTileColumns] = {};
  for (int64_t k = 0; k < a.columns; ++k) {
    const T* b_row = b.values + k * b.row_stride;
    for (int64_t i = 0; i < kTileRows; ++i) {
      const T factor = a.values[i * a.row_stride + k];
      for (int64_t j = 0; j < kTileColumns; ++j) {
        sums[i][j] = MultiplyAdd(factor, b_row[j], sums[i][j]);
      }
    }
  }
  for (int64_t i = 0; i < kTileRows; ++i) {
    T* c_row = c.values + i * c.row_stride;
    for (int64_t j = 0; j < kTileColumns; ++j) c_row[j] = MultiplyAdd(T(1), sums[i][j], c_row[j]);
  }
}

// What is left at the right and at the bottom: fewer rows or columns than a tile has.
template <typename T>
void AddEdge(Matrix<const T> a, Matrix<const T> b, Matrix<T> c) {
  for (int64_t i = 0; i < c.rows; ++i) {
    T* c_row = c.values + i * c.row_stride;
    for (int64_t k = 0; k < a.columns; ++k) {
      const T factor = a.values[i * a.row_stride + k];
      const T* b_row = b.values + k * b.row_stride;
      for (int64_t j = 0; j < c.columns; ++j) c_row[j] = MultiplyAdd(factor, b_row[j], c_row[j]);
    }
  }
}

}  // namespace matrix_product_internal

// c += a * b, in tiles so that a ResNet-50 runs in seconds. Within a tile every element's terms are
// added in the order of the shared dimension, so that the result does not depend on the machine.
// REQUIRES: `c` overlaps neither factor. REQUIRES: a.columns == b.rows, a.rows == c.rows, b.columns
// == c.columns.
template <typename T>
void AddProduct(Matrix<const T> a, Matrix<const T> b, Matrix<T> c) {
  namespace internal = matrix_product_internal;
  for (int64_t j = 0; j < c.columns; j += internal::kTileColumns) {
    const int64_t columns = std::min(internal::kTileColumns, c.columns - j);
    for (int64_t i = 0; i < c.rows; i += internal::kTileRows) {
      const int64_t rows = std::min(internal::kTileRows, c.rows - i);
      const Matrix<const T> a_part = {a.values + i * a.row_stride, rows, a.columns, a.row_stride};
      const Matrix<const T> b_part = {b.values + j, b.rows, columns, b.row_stride};
      const Matrix<T> c_part = {c.values + i * c.row_stride + j, rows, columns, c.row_stride};
      if (rows == internal::kTileRows && columns == internal::kTileColumns) {
        internal::AddTile(a_part, b_part, c_part);
      } else {
        internal::AddEdge(a_part, b_part, c_part);
      }
    }
  }
}

}  // namespace plait
