#include "gpu_worker/executor/compare_outputs.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "tests/gpu_worker/executor/floats.h"

namespace plait {
namespace {

using testing::HasSubstr;

// Values up to 1 in the first channel and to 0.01 in the second.
Tensor TwoChannels(float change_first, float change_second, Shape shape = {1, 2, 2}) {
  return Tensor::Of<float>(std::move(shape),
                           {1.0f + change_first, -0.5f, 0.01f + change_second, -0.005f});
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

TEST(OutputComparerTest, TellsTheErrorsOfEachOutputOnItsWorstInput) {
  OutputComparer comparer(1e-1);
  comparer.Add({Floats({2, 1}), Floats({4, 1, 1, 1})}, {Floats({2, 1}), Floats({4, 1, 1, 1.125f})});
  comparer.Add({Floats({2, 1}), Floats({1, 2, 1, 1})},
               {Floats({2.0625f, 1}), Floats({1, 2, 1, 1})});
  const std::vector<OutputError> outputs = comparer.Result().equivalence.outputs;
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_EQ(outputs[0].max_abs_error, 0.0625);
  EXPECT_EQ(outputs[0].max_rel_error, 0.03125);
  EXPECT_DOUBLE_EQ(outputs[0].rms_error, 0.0625 / std::sqrt(2));
  EXPECT_EQ(outputs[1], (OutputError{0.125, 0.03125, 0.0625, 0.125 / (4 + 0.1 * 4)}));
}

TEST(OutputComparerTest, AnErrorThatNoToleranceAcceptsIsInfiniteInItsOutputAlone) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  OutputComparer comparer(1e-1);
  comparer.Add({Floats({2, 1}), Floats({2, 1})}, {Floats({nan, 1}), Floats({2, 1})});
  const std::vector<OutputError> outputs = comparer.Result().equivalence.outputs;
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_TRUE(std::isinf(outputs[0].max_rel_error));
  EXPECT_TRUE(std::isinf(outputs[0].rms_error));
  EXPECT_TRUE(std::isinf(outputs[0].max_channel_error));
  EXPECT_EQ(outputs[1], OutputError());
}

TEST(OutputComparerTest, TellsOfABoundedNumberOfOutputs) {
  const std::vector<Tensor> outputs(kOutputErrorsMax + 1, Floats({1, 2}));
  std::vector<Tensor> wrong = outputs;
  wrong.back() = Floats({1, 3});
  OutputComparer comparer(1e-4);
  comparer.Add(outputs, wrong);
  EXPECT_EQ(comparer.Result().equivalence.outputs.size(), static_cast<size_t>(kOutputErrorsMax));
  EXPECT_EQ(comparer.Result().equivalence.verdict, Verdict::kDifferent);
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

TEST(OutputComparerTest, ANonFiniteValueOnOneSideIsAnInfiniteError) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  for (const auto& [a, b] : {std::pair(nan, 1.0f), std::pair(1.0f, nan), std::pair(nan, infinity),
                             std::pair(infinity, -infinity), std::pair(infinity, 3e38f)}) {
    const Equivalence equivalence = Compare(Floats({a, 1}), Floats({b, 1})).equivalence;
    EXPECT_EQ(equivalence.verdict, Verdict::kDifferent) << a << " " << b;
    EXPECT_EQ(equivalence.max_rel_error, infinity) << a << " " << b;
  }
}

// An infinity on both sides must not make the others' errors small.
TEST(OutputComparerTest, AnInfinityHidesNoError) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(Compare(Floats({infinity, 1}), Floats({infinity, 2})).equivalence.verdict,
            Verdict::kDifferent);
}

TEST(OutputComparerTest, AnOutputThatIsNanEverywhereIsDead) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  OutputComparer comparer(1e-4);
  comparer.Add({Floats({nan, nan})}, {Floats({nan, nan})});
  comparer.Add({Floats({nan, nan})}, {Floats({nan, nan})});
  EXPECT_EQ(comparer.Result().equivalence.verdict, Verdict::kInconclusive);
  EXPECT_TRUE(comparer.Result().equivalence.dead_outputs);
  EXPECT_THAT(comparer.Result().reason, HasSubstr("output 0 is nan everywhere"));
}

TEST(OutputComparerTest, AnOutputThatIsDeadAndDiffersIsDifferent) {
  const OutputComparison comparison = Compare(Floats({1, 1}), Floats({2, 1}));
  EXPECT_EQ(comparison.equivalence.verdict, Verdict::kDifferent);
  EXPECT_TRUE(comparison.equivalence.dead_outputs);
}

TEST(OutputComparerTest, ASmallChannelIsMeasuredByItsOwnValues) {
  // 1e-4 of the channel's largest value and of a tenth of the output's: 1.1e-5.
  EXPECT_EQ(Compare(TwoChannels(0, 0), TwoChannels(0, 1.0e-5f)).equivalence.verdict,
            Verdict::kEquivalent);
  const OutputComparison comparison = Compare(TwoChannels(0, 0), TwoChannels(0, 1.2e-5f));
  EXPECT_EQ(comparison.equivalence.verdict, Verdict::kDifferent);
  EXPECT_LT(comparison.equivalence.max_rel_error, 1e-4);
  EXPECT_NEAR(comparison.equivalence.max_channel_error, 1.2e-5 / 0.11, 1e-6);
  EXPECT_THAT(comparison.reason, HasSubstr("in channel 1"));
}

TEST(OutputComparerTest, AnOutputBelowRankThreeHasOneChannel) {
  for (const Shape& shape : {Shape{4}, Shape{2, 2}}) {
    EXPECT_EQ(Compare(TwoChannels(0, 0, shape), TwoChannels(0, 9e-5f, shape)).equivalence.verdict,
              Verdict::kEquivalent);
  }
}

// Larger than one block, and with runs of a channel that end within one.
TEST(OutputComparerTest, FindsTheChannelOfAnyElement) {
  const Shape shape = {2, 3, 5000};
  std::vector<float> values(30'000, 1e-3f);
  values[0] = 1;
  values[29'999] = 2e-3f;
  const Tensor original = Tensor::Of<float>(shape, values);
  values[4'999] += 1e-5f;  // of channel 0, whose largest value is 1
  EXPECT_EQ(Compare(original, Tensor::Of<float>(shape, values)).equivalence.verdict,
            Verdict::kEquivalent);
  for (const size_t element : {5'000, 14'999, 20'000, 25'000, 29'999}) {
    std::vector<float> changed = values;
    changed[element] += 2e-5f;
    const OutputComparison comparison = Compare(original, Tensor::Of<float>(shape, changed));
    EXPECT_EQ(comparison.equivalence.verdict, Verdict::kDifferent) << element;
    EXPECT_THAT(comparison.reason, HasSubstr(absl::StrCat("channel ", element / 5000 % 3)));
  }
}

TEST(OutputComparerTest, IntegersMustBeEqual) {
  const Equivalence equivalence =
      Compare(Tensor::Int64s({1000000, 7}), Tensor::Int64s({1000001, 7})).equivalence;
  EXPECT_EQ(equivalence.verdict, Verdict::kDifferent);
  EXPECT_EQ(equivalence.max_abs_error, 1);
  EXPECT_TRUE(std::isinf(equivalence.max_rel_error));
}

// As doubles all of these are one number.
TEST(OutputComparerTest, IntegersBeyondDoublesMustBeEqual) {
  const int64_t large = int64_t{1} << 60;
  const TensorType types[] = {{DataType::kInt64, {2}}, {DataType::kUint64, {2}}};
  for (const TensorType& type : types) {
    const Tensor original = Tensor::FromInt64s(type, {large, large + 100});
    EXPECT_EQ(Compare(original, original).equivalence.verdict, Verdict::kEquivalent);
    const Equivalence equivalence =
        Compare(original, Tensor::FromInt64s(type, {large + 3, large + 100})).equivalence;
    EXPECT_EQ(equivalence.verdict, Verdict::kDifferent);
    EXPECT_EQ(equivalence.max_abs_error, 3);
  }
  const Tensor ends = Tensor::FromInt64s(types[0], {-1, 1});
  EXPECT_EQ(Compare(ends, Tensor::FromInt64s(types[0], {1, 1})).equivalence.max_abs_error, 2);
  const Tensor unsigned_ends = Tensor::FromInt64s(types[1], {-1, 1});
  EXPECT_EQ(Compare(unsigned_ends, Tensor::FromInt64s(types[1], {-3, 1})).equivalence.max_abs_error,
            2);
}

TEST(OutputComparerTest, OtherShapesAndCountsAreDifferent) {
  EXPECT_EQ(Compare(Floats({1, 2}), Floats({1, 2, 3})).equivalence.verdict, Verdict::kDifferent);
  OutputComparer comparer(1e-4);
  comparer.Add({Floats({1, 2})}, {});
  EXPECT_EQ(comparer.Result().equivalence.verdict, Verdict::kDifferent);
}

}  // namespace
}  // namespace plait
