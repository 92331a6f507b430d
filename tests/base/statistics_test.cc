#include "base/statistics.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/random.h"

namespace plait {
namespace {

TEST(StatisticsTest, MedianIsTheMiddleSampleOfAnOddNumber) {
  EXPECT_EQ(Median({7}), 7);
  EXPECT_EQ(Median({9, 1, 5}), 5);
}

TEST(StatisticsTest, MedianIsTheMeanOfTheTwoMiddleSamplesOfAnEvenNumber) {
  EXPECT_EQ(Median({4, 1}), 2.5);
  EXPECT_EQ(Median({100, 1, 4, 2}), 3);
  EXPECT_EQ(Median({1, 1, 1, 1}), 1);
}

TEST(StatisticsTest, MedianIsThatOfTheSortedSamples) {
  Random random(1);
  for (int count = 1; count < 40; ++count) {
    std::vector<double> samples;
    for (int i = 0; i < count; ++i) samples.push_back(random.Uniform(0, 10));
    std::vector<double> sorted = samples;
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(Median(samples), (sorted[(count - 1) / 2] + sorted[count / 2]) / 2) << count;
  }
}

TEST(StatisticsTest, QuantileIsTheNearestSample) {
  const std::vector<double> samples = {50, 10, 40, 20, 30};
  EXPECT_EQ(Quantile(samples, 0), 10);
  EXPECT_EQ(Quantile(samples, 0.1), 10);
  EXPECT_EQ(Quantile(samples, 0.2), 20);
  EXPECT_EQ(Quantile(samples, 0.5), 30);
  EXPECT_EQ(Quantile(samples, 0.95), 50);
  EXPECT_EQ(Quantile(samples, 1), 50);
}

TEST(StatisticsTest, NoSamplesGiveZero) {
  EXPECT_EQ(Median({}), 0);
  EXPECT_EQ(Quantile({}, 0.5), 0);
}

}  // namespace
}  // namespace plait
