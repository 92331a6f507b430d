#include "gpu_worker/executor/exact_errors.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "tests/gpu_worker/executor/floats.h"

namespace plait {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

EvalTensor Exact(std::vector<double> values) {
  const Shape shape = {static_cast<int64_t>(values.size())};
  return {{DataType::kFloat32, shape}, std::move(values)};
}

OutputError ErrorOf(const EvalTensor& exact, const Tensor& output) {
  ExactErrors errors;
  errors.Add({exact}, {output});
  return errors.outputs().at(0);
}

TEST(ExactErrorsTest, MeasuresEachOutputBesideItsLargestValue) {
  const OutputError error = ErrorOf(Exact({3, -4, 0, 1}), Floats({3, -4, 0.5, 1}));
  EXPECT_EQ(error.max_abs_error, 0.5);
  EXPECT_EQ(error.max_rel_error, 0.125);
  EXPECT_EQ(error.rms_error, 0.25);
}

// A third is no fp32 number.
TEST(ExactErrorsTest, SeesWhatRoundingLoses) {
  const OutputError error = ErrorOf(Exact({1.0 / 3}), Floats({1.0f / 3}));
  EXPECT_GT(error.rms_error, 1e-9);
  EXPECT_LT(error.rms_error, 3e-8);
}

TEST(ExactErrorsTest, KeepsTheWorstInput) {
  ExactErrors errors;
  errors.Add({Exact({1}), Exact({1})}, {Floats({1.5}), Floats({1})});
  errors.Add({Exact({1}), Exact({1})}, {Floats({1.25}), Floats({1})});
  EXPECT_EQ(errors.outputs()[0].max_abs_error, 0.5);
  EXPECT_EQ(errors.outputs()[1].max_abs_error, 0);
}

TEST(ExactErrorsTest, TakesNoNumberForAnInfiniteErrorUnlessBothAre) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(ErrorOf(Exact({1, NAN}), Floats({1, nan})).rms_error, 0);
  EXPECT_EQ(ErrorOf(Exact({1, kInfinity}), Floats({1, INFINITY})).rms_error, 0);
  EXPECT_EQ(ErrorOf(Exact({1, 2}), Floats({1, nan})).rms_error, kInfinity);
  EXPECT_EQ(ErrorOf(Exact({1, NAN}), Floats({1, 2})).max_rel_error, kInfinity);
}

TEST(ExactErrorsTest, TakesIntegersForRightOrWrong) {
  const EvalTensor exact = {{DataType::kInt64, {2}}, std::vector<int64_t>{1, 2}};
  EXPECT_EQ(ErrorOf(exact, Tensor::Of<int64_t>({2}, {1, 2})).max_abs_error, 0);
  EXPECT_EQ(ErrorOf(exact, Tensor::Of<int64_t>({2}, {1, 3})).max_abs_error, kInfinity);
}

TEST(ExactErrorsTest, ComparesWhatTwoModelsLose) {
  const OutputError little = {.rms_error = 1e-7};
  const OutputError much = {.rms_error = 3e-7};
  const OutputError exact;
  EXPECT_NEAR(RmsRatio({little, much}, {much, little}), 3, 1e-9);
  EXPECT_EQ(RmsRatio({exact, little}, {exact, little}), 1);
  EXPECT_EQ(RmsRatio({exact}, {little}), kInfinity);
  EXPECT_EQ(RmsRatio({little}, {{.rms_error = kInfinity}}), kInfinity);
  EXPECT_EQ(RmsRatio({exact}, {exact}), 1);
}

// One element that is wrong hardly moves a root of a mean.
TEST(ExactErrorsTest, TheWorstElementCountsAsWell) {
  const OutputError original = {.max_abs_error = 4e-7, .rms_error = 1e-7};
  EXPECT_NEAR(ExactRatio({original}, {{.max_abs_error = 2e-6, .rms_error = 1e-7}}), 5, 1e-9);
  EXPECT_NEAR(ExactRatio({original}, {{.max_abs_error = 4e-7, .rms_error = 2e-7}}), 2, 1e-9);
  EXPECT_EQ(ExactRatio({original}, {{}}), 1);
}

}  // namespace
}  // namespace plait
