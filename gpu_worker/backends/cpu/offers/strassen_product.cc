#include "gpu_worker/backends/cpu/offers/strassen_product.h"

namespace plait {
namespace {

// A half of fewer rows reads weights, of which there are seven quarters for four, as fast as it
// can multiply them.
constexpr int64_t kRowsMin = 64;

// What a number on the left and one of the result cost, in multiplications, of which there must be
// more than that: measured by time.
constexpr int64_t kCostOfLeft = 27;
constexpr int64_t kCostOfResult = 54;

}  // namespace

bool IsStrassenProduct(const ConstantProduct& product) {
  const auto [rows, depth, columns, row_floats, column_floats] = product;
  return rows >= kRowsMin && depth % 2 == 0 && columns % 2 == 0 &&
         depth * columns / 8 >= kCostOfLeft * depth + kCostOfResult * columns;
}

}  // namespace plait
