#include "optimizer/search/speedup.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"

namespace plait {
namespace {

// A machine on which two plans are measured, with what was seen on real ones: noise in every round,
// a drift and jumps of speed that hit both plans of a round, rounds that something disturbs, and an
// effect of each load.
class Machine {
 public:
  Machine(uint64_t seed, double load_deviation) : random_(seed), load_deviation_(load_deviation) {}

  // Measures plans of which the second is `speedup` times as fast.
  void Measure(int loads, int rounds_per_load, double speedup) {
    before_us.clear();
    after_us.clear();
    load_rounds.clear();
    double pace = 1;
    for (int load = 0; load < loads; ++load) {
      // Each of the two has half of the variance of their ratio.
      const double before_load = std::exp(Normal() * load_deviation_ / std::sqrt(2));
      const double after_load = std::exp(Normal() * load_deviation_ / std::sqrt(2));
      for (int round = 0; round < rounds_per_load; ++round) {
        pace *= std::exp(0.003 * Normal());
        if (random_.Uniform() < 0.02) pace = random_.Uniform(0.6, 1.6);
        before_us.push_back(1000 * pace * before_load * Round());
        after_us.push_back(1000 / speedup * pace * after_load * Round());
      }
      load_rounds.push_back(rounds_per_load);
    }
  }

  // What another measurement found, behind what this one did.
  void Add(const Machine& more) {
    before_us.insert(before_us.end(), more.before_us.begin(), more.before_us.end());
    after_us.insert(after_us.end(), more.after_us.begin(), more.after_us.end());
    load_rounds.insert(load_rounds.end(), more.load_rounds.begin(), more.load_rounds.end());
  }

  Speedup Estimate(const LoadEffect& effect) const {
    return EstimateSpeedup({before_us, after_us, load_rounds}, effect);
  }

  // What twenty loads of one plan beside itself show.
  LoadEffect Calibrate() {
    Measure(20, 5, 1);
    return LoadEffectOf({before_us, after_us, load_rounds});
  }

  std::vector<double> before_us;
  std::vector<double> after_us;
  std::vector<int> load_rounds;

 private:
  // Sum of twelve uniform numbers.
  double Normal() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += random_.Uniform();
    return sum;
  }

  // 2 % of noise, and one round in twenty that is up to three times as long.
  double Round() {
    const double disturbed = random_.Uniform() < 0.05 ? random_.Uniform(1, 3) : 1;
    return std::exp(0.02 * Normal()) * disturbed;
  }

  Random random_;
  const double load_deviation_;
};

struct Design {
  int loads;
  int rounds_per_load;
};

// From the shortest verification of a large model to the longest of a small one.
constexpr Design kDesigns[] = {{3, 5}, {4, 5}, {6, 20}};
constexpr int kTrials = 1000;

// What is decided by looking at a machine so many times at most, each time with as many rounds
// more.
bool IsAccepted(Machine& machine, const LoadEffect& effect, const Design& design, double speedup,
                int looks) {
  machine.Measure(design.loads, design.rounds_per_load, speedup);
  Machine all = machine;
  for (int look = 1;; ++look) {
    const Speedup estimate =
        EstimateSpeedup({all.before_us, all.after_us, all.load_rounds}, effect, looks);
    if (estimate.certain > 1) return true;
    if (look == looks || !IsWorthAnotherLook(estimate)) return false;
    machine.Measure(design.loads, design.rounds_per_load, speedup);
    all.Add(machine);
  }
}

int CountAccepted(double load_deviation, const Design& design, double speedup, int looks) {
  int accepted = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    Machine machine(trial, load_deviation);
    const LoadEffect effect = machine.Calibrate();
    accepted += IsAccepted(machine, effect, design, speedup, looks);
  }
  return accepted;
}

TEST(SpeedupTest, AcceptsAnEqualPlanInFivePerCentOfCasesAtMost) {
  for (const int looks : {1, 3, kLooksMax}) {
    for (const double load_deviation : {0.001, 0.01, 0.03}) {
      for (const Design& design : kDesigns) {
        EXPECT_LE(CountAccepted(load_deviation, design, 1, looks), kTrials / 20)
            << looks << " looks, " << load_deviation << " " << design.loads;
      }
    }
  }
}

// Of plans that are as fast as the one before, how often one of `plans` seems to be faster, where
// bounds are those of `said` plans.
int CountAcceptedOf(int plans, int said, double load_deviation, const Design& design) {
  int accepted = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    Machine machine(trial, load_deviation);
    const LoadEffect effect = machine.Calibrate();
    bool is_accepted = false;
    for (int plan = 0; plan < plans; ++plan) {
      machine.Measure(design.loads, design.rounds_per_load, 1);
      is_accepted |= EstimateSpeedup({machine.before_us, machine.after_us, machine.load_rounds},
                                     effect, 1, said)
                         .certain > 1;
    }
    accepted += is_accepted;
  }
  return accepted;
}

TEST(SpeedupTest, OneOfTwoEqualPlansIsAcceptedNoMoreOftenThanOne) {
  int one = 0, two = 0, uncorrected = 0;
  for (const Design& design : kDesigns) {
    one += CountAcceptedOf(1, 1, 0.01, design);
    two += CountAcceptedOf(2, 2, 0.01, design);
    uncorrected += CountAcceptedOf(2, 1, 0.01, design);
  }
  EXPECT_LE(two, one + 3 * kTrials / 200) << one << " of " << 3 * kTrials;
  EXPECT_GE(uncorrected, one * 3 / 2);
}

TEST(SpeedupTest, LooksFindASmallGain) {
  EXPECT_LE(CountAccepted(0.01, {6, 6}, 1.02, 1), kTrials * 0.6);
  EXPECT_GE(CountAccepted(0.01, {6, 6}, 1.02, kLooksMax), kTrials * 0.93);
  EXPECT_GE(CountAccepted(0.01, {3, 5}, 1.02, kLooksMax), kTrials * 0.75);
}

TEST(SpeedupTest, WhatSeemsFasterIsWorthAnotherLook) {
  EXPECT_TRUE(IsWorthAnotherLook({.median = 1.02, .certain = 0.7}));
  EXPECT_FALSE(IsWorthAnotherLook({.median = 1.02, .certain = 1.01})) << "it is certain";
  EXPECT_FALSE(IsWorthAnotherLook({.median = 1.004, .certain = 0.99}));
  EXPECT_FALSE(IsWorthAnotherLook({.median = 0.98, .certain = 0.95}));
}

TEST(SpeedupTest, AWholeIsBetweenItsParts) {
  const Speedup gain = {.median = 2, .certain = 1.5, .low = 1.25, .high = 4};
  const Speedup whole = CombinedSpeedup({{{100, gain}, {100, {}}}});
  EXPECT_DOUBLE_EQ(whole.median, 200. / 150);
  EXPECT_DOUBLE_EQ(whole.certain, 200 / (100 + 100 / 1.5));
  EXPECT_DOUBLE_EQ(whole.low, 200. / 180);
  EXPECT_DOUBLE_EQ(whole.high, 200. / 125);
  EXPECT_DOUBLE_EQ(CombinedSpeedup({{{100, gain}, {0, {}}}}).low, 1.25) << "one takes no time";
  EXPECT_EQ(CombinedSpeedup({}).median, 1);
  EXPECT_EQ(CombinedSpeedup({{{0, gain}}}).median, 1);
}

TEST(SpeedupTest, AcceptsARealGain) {
  EXPECT_GE(CountAccepted(0.01, {6, 20}, 1.03, 1), kTrials * 0.9);
}

TEST(SpeedupTest, HoldsWhatALaterMeasurementFinds) {
  for (const Design& design : kDesigns) {
    int held = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
      Machine machine(trial, 0.01);
      const LoadEffect effect = machine.Calibrate();
      machine.Measure(design.loads, design.rounds_per_load, 1.1);
      const Speedup reported = machine.Estimate(effect);
      machine.Measure(kLaterLoads, 8, 1.1);
      const double later = machine.Estimate(effect).median;
      held += reported.low <= later && later <= reported.high;
    }
    EXPECT_GE(held, kTrials * 0.93) << design.loads;
  }
}

// Rounds cannot tell: they are all from one load.
TEST(SpeedupTest, ManyRoundsOfOneLoadProveNothing) {
  const std::vector<double> before_us(1000, 101);
  const std::vector<double> after_us(1000, 100);
  const Speedup one = EstimateSpeedup({before_us, after_us, {1000}}, {0.01, 20});
  EXPECT_NEAR(one.median, 1.01, 1e-9);
  EXPECT_LT(one.certain, 1);
  const std::vector<int> many(10, 100);
  EXPECT_GT(EstimateSpeedup({before_us, after_us, many}, {0.01, 20}).certain, 1);
}

TEST(SpeedupTest, LoadsThatDifferByMoreThanTheDeviceSaysWidenTheInterval) {
  std::vector<double> before_us(40, 110);
  const std::vector<double> after_us(40, 100);
  const std::vector<int> loads(4, 10);
  const LoadEffect quiet = {0.001, 20};
  const Speedup agreeing = EstimateSpeedup({before_us, after_us, loads}, quiet);
  EXPECT_GT(agreeing.certain, 1.09);
  for (int i = 0; i < 10; ++i) before_us[i] = 150;
  const Speedup differing = EstimateSpeedup({before_us, after_us, loads}, quiet);
  EXPECT_LT(differing.certain, 1.05);
}

TEST(SpeedupTest, IsTheSameTheOtherWayRound) {
  Machine machine(1, 0.01);
  machine.Measure(3, 7, 1.2);
  const Speedup there = machine.Estimate({0.01, 20});
  std::swap(machine.before_us, machine.after_us);
  const Speedup back = machine.Estimate({0.01, 20});
  EXPECT_NEAR(there.median * back.median, 1, 1e-12);
  EXPECT_NEAR(there.low * back.high, 1, 1e-12);
}

TEST(SpeedupTest, SaysNothingWithoutRounds) {
  const Speedup none = EstimateSpeedup({}, {});
  EXPECT_EQ(none.median, 1);
  EXPECT_EQ(none.certain, 1);
  EXPECT_EQ(none.low, 1);
  EXPECT_EQ(none.high, 1);
}

TEST(SpeedupTest, ALoadEffectIsTheSpreadOfLoads) {
  double sum = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    sum += Machine(trial, 0.02).Calibrate().deviation / kTrials;
  }
  EXPECT_NEAR(sum, 0.02, 0.002);
}

// Twenty loads of a network of a few milliseconds said nothing of what loads of another do.
TEST(SpeedupTest, KeepsItsPromisesWhereLoadsDifferByMoreThanIsKnown) {
  const LoadEffect known = {0.003, 20};
  for (const Design& design : kDesigns) {
    for (const double load_deviation : {0.01, 0.02, 0.03, 0.05, 0.1}) {
      int accepted = 0;
      int held = 0;
      for (int trial = 0; trial < kTrials; ++trial) {
        Machine machine(trial, load_deviation);
        machine.Measure(design.loads, design.rounds_per_load, 1);
        const Speedup reported = machine.Estimate(known);
        accepted += reported.certain > 1;
        machine.Measure(kLaterLoads, 8, 1);
        const double later = machine.Estimate(known).median;
        held += reported.low <= later && later <= reported.high;
      }
      EXPECT_LE(accepted, kTrials / 20) << design.loads << " loads, " << load_deviation;
      EXPECT_GE(held, kTrials * 0.85) << design.loads << " loads, " << load_deviation;
    }
  }
}

// Somebody compiled for as long as a few of the loads took.
TEST(SpeedupTest, AFewDisturbedLoadsAreNotTheDevice) {
  Machine machine(1, 0.01);
  machine.Measure(20, 5, 1);
  for (int round = 20; round < 45; ++round) machine.after_us[round] *= round % 2 == 0 ? 2 : 1.4;
  const LoadEffect effect =
      LoadEffectOf({machine.before_us, machine.after_us, machine.load_rounds});
  EXPECT_LT(effect.deviation, 0.02);
  EXPECT_EQ(effect.loads, 20);
}

TEST(SpeedupTest, LaterLoadsCorrectALoadEffect) {
  const LoadEffect once = PooledLoadEffect({0.03, 20}, {0.01, 20});
  EXPECT_NEAR(once.deviation, std::sqrt((0.0009 + 0.0001) / 2), 1e-12);
  EXPECT_EQ(once.loads, 40);
  LoadEffect effect = {0.05, 20};
  for (int job = 0; job < 30; ++job) effect = PooledLoadEffect(effect, {0.01, 6});
  EXPECT_LT(effect.deviation, 0.015) << "what was seen long ago is forgotten";
  // Who has seen nothing knows nothing.
  EXPECT_EQ(PooledLoadEffect({0.03, 20}, {0.01, 0}), (LoadEffect{0.03, 20}));
  EXPECT_EQ(PooledLoadEffect({0.01, 0}, {0.03, 6}), (LoadEffect{0.03, 6}));
}

}  // namespace
}  // namespace plait
