#include "client/gate/decide.h"

#include <cmath>

#include <gtest/gtest.h>

#include "tests/base/manual_clock.h"

namespace plait {
namespace {

// Loads whose times are known, each of so many seconds.
class KnownLoads : public PairSource {
 public:
  KnownLoads(ManualClock& clock, double ratio, double seconds)
      : clock_(clock), ratio_(ratio), seconds_(seconds) {}

  absl::StatusOr<PairedLoad> MeasureLoad(bool new_first) override {
    if (static_cast<int>(orders.size()) == fails_at) return absl::ResourceExhaustedError("memory");
    orders.push_back(new_first);
    clock_.Advance(absl::Seconds(seconds_));
    return PairedLoad{{100, 100}, {100 * ratio_, 100 * ratio_}};
  }

  std::vector<bool> orders;
  int fails_at = -1;

 private:
  ManualClock& clock_;
  const double ratio_;
  const double seconds_;
};

TEST(DecideGateTest, StopsAsSoonAsItIsSure) {
  ManualClock clock;
  KnownLoads loads(clock, 1, 1);
  const absl::StatusOr<GateOutcome> outcome = DecideGate(loads, clock, {});
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->verdict, GateVerdict::kPass);
  EXPECT_EQ(outcome->loads, 8);
  EXPECT_DOUBLE_EQ(outcome->seconds, 8);
  EXPECT_DOUBLE_EQ(outcome->ratio, 1);
  EXPECT_GT(outcome->ratio_low, 0);
  EXPECT_LT(outcome->ratio_high, 1.02);
  EXPECT_EQ(outcome->base_us.size(), 16u);
  EXPECT_EQ(outcome->new_us.size(), 16u);
}

TEST(DecideGateTest, EachIsFirstInEveryOtherLoad) {
  ManualClock clock;
  KnownLoads loads(clock, 1.5, 1);
  ASSERT_EQ(DecideGate(loads, clock, {})->verdict, GateVerdict::kFail);
  for (size_t i = 0; i < loads.orders.size(); ++i) EXPECT_EQ(loads.orders[i], i % 2 == 1);
}

TEST(DecideGateTest, FindsThatTimeIsOutBeforeItIs) {
  ManualClock clock;
  // Six loads fit into 60 s, and prove nothing.
  KnownLoads loads(clock, 1, 10);
  const absl::StatusOr<GateOutcome> outcome = DecideGate(loads, clock, {});
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->verdict, GateVerdict::kInconclusive);
  EXPECT_EQ(outcome->loads, 6);
  EXPECT_LE(outcome->seconds, 60);
  EXPECT_EQ(outcome->ratio_low, 0);
  EXPECT_TRUE(std::isinf(outcome->ratio_high));
}

// Whoever has no time is told how the models compare all the same.
TEST(DecideGateTest, MeasuresOnePairWhateverTheTime) {
  ManualClock clock;
  KnownLoads loads(clock, 1.1, 10);
  GateOptions options;
  options.time_max = absl::Seconds(-5);
  const absl::StatusOr<GateOutcome> outcome = DecideGate(loads, clock, options);
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->verdict, GateVerdict::kInconclusive);
  EXPECT_EQ(outcome->loads, 2);
  EXPECT_NEAR(outcome->ratio, 1.1, 1e-12);
}

TEST(DecideGateTest, TheLimitIsTheUsers) {
  ManualClock clock;
  KnownLoads loads(clock, 1.05, 1);
  GateOptions options;
  options.max_regression = 0.1;
  EXPECT_EQ(DecideGate(loads, clock, options)->verdict, GateVerdict::kPass);
  options.max_regression = 0;
  EXPECT_EQ(DecideGate(loads, clock, options)->verdict, GateVerdict::kFail);
}

TEST(DecideGateTest, WhatCannotBeMeasuredIsAnError) {
  ManualClock clock;
  KnownLoads loads(clock, 1, 1);
  loads.fails_at = 3;
  EXPECT_TRUE(absl::IsResourceExhausted(DecideGate(loads, clock, {}).status()));
}

}  // namespace
}  // namespace plait
