#include "gpu_worker/backends/cpu/offers/strassen_product.h"

namespace plait {
namespace {

// A half of fewer rows reads weights, of which there are seven quarters for four, as fast as it
// can multiply them.
constexpr int64_t kRowsMin = 64;

// Measured by time: sums of a number on the left, and of one of the result.
constexpr int64_t kAdditionsOfLeft = 3;
constexpr int64_t kAdditionsOfResult = 6;

}  // namespace

bool IsStrassenProduct(const ConstantProduct& product) {
  const auto [rows, depth, columns, row_floats, column_floats] = product;
  const int64_t additions = kAdditionsOfLeft * depth + kAdditionsOfResult * columns;
  return rows >= kRowsMin && depth % 2 == 0 && columns % 2 == 0 &&
         depth * columns / 8 >= 2 * additions;
}

}  // namespace plait
