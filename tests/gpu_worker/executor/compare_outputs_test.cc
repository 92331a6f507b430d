#include "gpu_worker/executor/compare_outputs.h"

#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plait {
namespace {

using testing::HasSubstr;

Tensor Floats(std::vector<float> values) {
  const Shape shape = {static_cast<int64_t>(values.size())};
  return Tensor::Of<float>(shape, values);
}

OutputComparison Compare(const Tensor& original, const Tensor& candidate) {
  OutputComparer comparer(1e-4);
  comparer.Add({original}, {candidate});
  return comparer.Result();
}

TEST(OutputComparerTest, MeasuresErrorsAgainstTheLargestValue) {
  const OutputComparison comparison =
      Compare(Floats({100.0f, 1.0f, 0.0f}), Floats({100.0f, 1.005f, 0.0f}));
  EXPECT_EQ(comparison.equivalence.verdict, Verdict::kEquivalent);
  EXPECT_NEAR(comparison.equivalence.max_abs_error, 0.005, 1e-6);
  EXPECT_NEAR(comparison.equivalence.max_rel_error, 0.00005, 1e-8);
  EXPECT_EQ(comparison.equivalence.inputs_tried, 1);
}

TEST(OutputComparerTest, SeesAShiftByOneElement) {
  const OutputComparison comparison =
      Compare(Floats({0.1f, 0.2f, 0.3f, 0.4f}), Floats({0.2f, 0.3f, 0.4f, 0.1f}));
  EXPECT_EQ(comparison.equivalence.verdict, Verdict::kDifferent);
  EXPECT_THAT(comparison.reason, HasSubstr("output 0 differs"));
}

TEST(OutputComparerTest, DeadOutputsAreInconclusive) {
  OutputComparer comparer(1e-4);
  comparer.Add({Floats({1, 2}), Floats({0, 0})}, {Floats({1, 2}), Floats({0, 0})});
  comparer.Add({Floats({3, 4}), Floats({0, 0})}, {Floats({3, 4}), Floats({0, 0})});
  EXPECT_EQ(comparer.Result().equivalence.verdict, Verdict::kInconclusive);
  EXPECT_THAT(comparer.Result().reason, HasSubstr("output 1"));
}

TEST(OutputComparerTest, AScalarThatChangesWithTheInputIsAlive) {
  OutputComparer comparer(1e-4);
  comparer.Add({Floats({1})}, {Floats({1})});
  EXPECT_EQ(comparer.Result().equivalence.verdict, Verdict::kInconclusive);
  comparer.Add({Floats({2})}, {Floats({2})});
  EXPECT_EQ(comparer.Result().equivalence.verdict, Verdict::kEquivalent);
}

TEST(OutputComparerTest, SpecialValuesMustAgree) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(Compare(Floats({nan, 1}), Floats({nan, 1})).equivalence.verdict, Verdict::kEquivalent);
  EXPECT_EQ(Compare(Floats({nan, 1}), Floats({0, 1})).equivalence.verdict, Verdict::kDifferent);
  EXPECT_EQ(Compare(Floats({0, 1}), Floats({nan, 1})).equivalence.verdict, Verdict::kDifferent);
  EXPECT_EQ(Compare(Floats({infinity, 1}), Floats({-infinity, 1})).equivalence.verdict,
            Verdict::kDifferent);
  EXPECT_EQ(Compare(Floats({infinity, 1}), Floats({infinity, 1})).equivalence.verdict,
            Verdict::kEquivalent);
}

TEST(OutputComparerTest, IntegersMustBeEqual) {
  EXPECT_EQ(Compare(Tensor::Int64s({1000000, 7}), Tensor::Int64s({1000001, 7})).equivalence.verdict,
            Verdict::kDifferent);
}

TEST(OutputComparerTest, OtherShapesAndCountsAreDifferent) {
  EXPECT_EQ(Compare(Floats({1, 2}), Floats({1, 2, 3})).equivalence.verdict, Verdict::kDifferent);
  OutputComparer comparer(1e-4);
  comparer.Add({Floats({1, 2})}, {});
  EXPECT_EQ(comparer.Result().equivalence.verdict, Verdict::kDifferent);
}

}  // namespace
}  // namespace plait
