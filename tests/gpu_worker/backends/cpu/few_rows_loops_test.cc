// Products of a few rows with a matrix that is read where it lies, of every instruction set that
// this processor has, against double precision; and softmaxes of parts of rows.
#include <cmath>

#include <gtest/gtest.h>

#include "gpu_worker/backends/cpu/loops/loops.h"
#include "tests/gpu_worker/backends/cpu/random_numbers.h"
#include "tests/gpu_worker/backends/cpu/special_numbers.h"

namespace plait {
namespace {

std::vector<const LoopTable*> Tables() {
  std::vector<const LoopTable*> tables = {&GenericLoops()};
  const std::string best = Loops().instruction_set;
  if (best != "generic") tables.push_back(&Avx2Loops());
  if (best == "avx512") tables.push_back(&Avx512Loops());
  return tables;
}

// Rows of the matrix and of the result are further apart than they are long, and what is between
// them must stay out of the sums, and as it is.
constexpr int64_t kFewRowsGap = 3;

struct ProductSizes {
  int64_t rows;
  int64_t depth;
  int64_t columns;
};

void ExpectProductIsRight(const LoopTable& table, const ProductSizes& sizes, bool transposed) {
  const auto [rows, depth, columns] = sizes;
  SCOPED_TRACE(testing::Message() << table.instruction_set << " " << rows << " x " << depth << " x "
                                  << columns << (transposed ? " transposed" : ""));
  const int64_t right_rows = transposed ? columns : depth;
  const int64_t right_columns = transposed ? depth : columns;
  const std::vector<float> left = RandomNumbers(static_cast<int>(rows * depth), 1);
  std::vector<float> right =
      RandomNumbers(static_cast<int>(right_rows * (right_columns + kFewRowsGap)), 2);
  for (int64_t row = 0; row < right_rows; ++row) {
    for (int64_t i = 0; i < kFewRowsGap; ++i) {
      right[row * (right_columns + kFewRowsGap) + right_columns + i] = kNan;
    }
  }
  std::vector<float> y(rows * (columns + kFewRowsGap), 7.0f);
  std::vector<const float*> left_rows;
  std::vector<float*> y_rows;
  for (int64_t row = 0; row < rows; ++row) {
    left_rows.push_back(left.data() + row * depth);
    y_rows.push_back(y.data() + row * (columns + kFewRowsGap));
  }
  const RowsProduct product{.left = left_rows.data(),
                            .rows = rows,
                            .depth = depth,
                            .right = right.data(),
                            .right_row_floats = right_columns + kFewRowsGap,
                            .columns = columns,
                            .y = y_rows.data()};
  (transposed ? table.rows_by_transposed : table.rows_by_row_major)(product);
  for (int64_t m = 0; m < rows; ++m) {
    for (int64_t n = 0; n < columns; ++n) {
      double sum = 0, magnitude = 0;
      for (int64_t k = 0; k < depth; ++k) {
        const int64_t at =
            transposed ? n * (depth + kFewRowsGap) + k : k * (columns + kFewRowsGap) + n;
        const double term = double{left_rows[m][k]} * right[at];
        sum += term;
        magnitude += std::abs(term);
      }
      ASSERT_NEAR(y_rows[m][n], sum, 1e-6 * magnitude) << m << ", " << n;
    }
    for (int64_t i = 0; i < kFewRowsGap; ++i) ASSERT_EQ(y_rows[m][columns + i], 7.0f);
  }
}

TEST(FewRowsLoopsTest, ProductsAreRightForAllSizesAroundVectors) {
  for (const LoopTable* table : Tables()) {
    for (const int64_t rows : {1, 2, 3, 4, 7}) {
      for (const int64_t depth : {1, 3, 8, 15, 16, 17, 40, 64, 200}) {
        for (const int64_t columns : {1, 3, 4, 7, 8, 15, 16, 17, 33, 64, 80, 145}) {
          for (const bool transposed : {false, true}) {
            ExpectProductIsRight(*table, {rows, depth, columns}, transposed);
          }
        }
      }
    }
  }
}

// What stands beside a row's rest is neither multiplied nor hidden by a zero.
TEST(FewRowsLoopsTest, InfinitiesStayInTheirOwnPlaces) {
  for (const LoopTable* table : Tables()) {
    std::vector<float> x(20, 1.0f), right(40, 0.0f);
    right[2] = kInfinity;
    right[20 + 19] = -kInfinity;
    float y[2];
    const float* const left = x.data();
    float* const result = y;
    table->rows_by_transposed({&left, 1, 20, right.data(), 20, 2, &result});
    EXPECT_EQ(y[0], kInfinity) << table->instruction_set;
    EXPECT_EQ(y[1], -kInfinity) << table->instruction_set;
  }
}

TEST(FewRowsLoopsTest, PartsOfASoftmaxSayWhatTheyAreOfTheWhole) {
  const std::vector<float> x = RandomNumbers(75, 3);
  const std::vector<float> mask = RandomNumbers(75, 4);
  double largest = -kInfinity, sum = 0;
  for (size_t i = 0; i < x.size(); ++i) largest = std::max(largest, 0.5 * x[i] + mask[i]);
  for (size_t i = 0; i < x.size(); ++i) sum += std::exp(0.5 * x[i] + mask[i] - largest);
  for (const LoopTable* table : Tables()) {
    std::vector<float> y(75);
    const SoftmaxPart part =
        table->softmax_part({x.data(), mask.data(), y.data(), 75, 0.5f, false});
    EXPECT_NEAR(part.largest, largest, 1e-6);
    EXPECT_NEAR(part.sum, sum, 1e-5);
    for (size_t i = 0; i < x.size(); ++i) {
      EXPECT_NEAR(y[i], std::exp(0.5 * x[i] + mask[i] - largest) / sum, 1e-7);
    }
  }
}

TEST(FewRowsLoopsTest, APartThatIsMaskedHasNoWeightUnlessItHasANaN) {
  const std::vector<float> mask(37, -kInfinity);
  for (const LoopTable* table : Tables()) {
    SCOPED_TRACE(table->instruction_set);
    std::vector<float> x(37, 2.0f), y(37);
    SoftmaxPart part = table->softmax_part({x.data(), mask.data(), y.data(), 37, 1, false});
    EXPECT_EQ(part.largest, -kInfinity);
    EXPECT_EQ(part.sum, 0);
    for (const float weight : y) EXPECT_EQ(weight, 0);
    x[30] = kNan;
    part = table->softmax_part({x.data(), mask.data(), y.data(), 37, 1, false});
    EXPECT_TRUE(std::isnan(part.sum));
    for (const float weight : y) EXPECT_TRUE(std::isnan(weight));
  }
}

}  // namespace
}  // namespace plait
