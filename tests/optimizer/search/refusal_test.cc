#include "optimizer/search/refusal.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/limits.h"
#include "tests/optimizer/search/job.h"

namespace plait {
namespace {

using testing::ElementsAre;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Two outputs, "y" and "z", of a baseline of 120 us; the refused plan is predicted to take 60 us.
class RefusalTest : public testing::Test {
 protected:
  RefusalTest() {
    baseline_.latency_us.assign(6, 100);
    baseline_.load_rounds = {3, 3};
    refused_ = baseline_;
    refused_.equivalence = {.verdict = Verdict::kEquivalent, .inputs_tried = 4};
  }

  Refusal Refuse() const {
    const PlanCandidate baseline = {"base", graph_, Plan(), 120};
    const PlanCandidate candidate = {"1", Graph(), Plan(), 60};
    return RefusalOf({baseline, baseline_}, {candidate, refused_}, 1e-4, {0.01, 20});
  }

  const Graph graph_ = GraphOf(R"(graph {
    input %x: float32[2]
    %y = Tanh(%x) {}
    %z = Exp(%x) {}
    output %y, %z
  })");
  CandidateMeasurement baseline_;
  CandidateMeasurement refused_;
};

TEST_F(RefusalTest, TellsWhichOutputDiffersByHowMuch) {
  refused_.equivalence.verdict = Verdict::kDifferent;
  refused_.equivalence.max_rel_error = 3.2e-4;
  refused_.equivalence.outputs = {{1, 2e-5, 0}, {1, 3.2e-4, 0}};
  const Refusal refusal = Refuse();
  EXPECT_EQ(refusal.reason, RefusalReason::kDifferent);
  EXPECT_EQ(refusal.place, "z");
  EXPECT_EQ(refusal.message, "");
  EXPECT_EQ(refusal.error, 3.2e-4);
  EXPECT_EQ(refusal.limit, 1e-4);
  EXPECT_EQ(refusal.predicted_us, 60);
  EXPECT_EQ(refusal.predicted_speedup, 2);
  EXPECT_EQ(refusal.latency_us, 100);
  EXPECT_EQ(refusal.speedup, 1);
}

// An output may be far off in a channel of small values, where the whole output hides it.
TEST_F(RefusalTest, TellsWhichOutputHasTheWorstChannel) {
  refused_.equivalence.verdict = Verdict::kDifferent;
  refused_.equivalence.max_rel_error = 9e-5;
  refused_.equivalence.max_channel_error = 2e-4;
  refused_.equivalence.outputs = {{1, 2e-5, 0, /*max_channel_error=*/2e-4},
                                  {1, 9e-5, 0, /*max_channel_error=*/9e-5}};
  EXPECT_EQ(Refuse().place, "y");
  EXPECT_EQ(Refuse().error, 2e-4);
}

TEST_F(RefusalTest, TellsWhatExactOutputsSay) {
  refused_.equivalence = {
      .verdict = Verdict::kDifferent, .max_rel_error = 2e-4, .exact_ratio = 3.125};
  EXPECT_EQ(Refuse().message, "3.1 times as far from exact outputs as the original");
}

TEST_F(RefusalTest, NamesNoOutputThatNobodyTold) {
  refused_.equivalence.verdict = Verdict::kDifferent;
  refused_.equivalence.max_rel_error = kInfinity;
  EXPECT_EQ(Refuse().place, "");
  EXPECT_EQ(Refuse().error, kInfinity);
  refused_.equivalence.outputs = {{}, {}, {1, 2, 3}};  // more than there are
  EXPECT_EQ(Refuse().place, "");
}

TEST_F(RefusalTest, TellsWhatTheDeviceSaid) {
  refused_ = {};
  refused_.error = "out of memory";
  const Refusal refusal = Refuse();
  EXPECT_EQ(refusal.reason, RefusalReason::kFailed);
  EXPECT_EQ(refusal.message, "out of memory");
  EXPECT_EQ(refusal.latency_us, 0);
  EXPECT_EQ(refusal.limit, 0);
}

TEST_F(RefusalTest, TellsWhatWasMeasuredBesideWhatWasPredicted) {
  refused_.latency_us.assign(6, 101);
  const Refusal refusal = Refuse();
  EXPECT_EQ(refusal.reason, RefusalReason::kNotFaster);
  EXPECT_EQ(refusal.predicted_speedup, 2);
  EXPECT_EQ(refusal.latency_us, 101);
  EXPECT_NEAR(refusal.speedup, 100.0 / 101, 1e-9);
  EXPECT_LT(refusal.speedup_certain, refusal.speedup);
}

TEST_F(RefusalTest, AFamilyStandsOnceWithTheWorstOfItsLayers) {
  std::vector<Refusal> refusals;
  AddRefusedKernel("digits", 2, "a", {.error = 3e-6, .serial_error = 4e-7}, refusals);
  AddRefusedKernel("winograd", 1, "b", {.error = kInfinity}, refusals);
  AddRefusedKernel("digits", 3, "c", {.hard_error = 5e-6, .serial_hard_error = 2e-6}, refusals);
  AddRefusedKernel("digits", 1, "d", {.error = 2e-6}, refusals);
  ASSERT_EQ(refusals.size(), 2u);
  EXPECT_EQ(refusals[0].reason, RefusalReason::kInaccurate);
  EXPECT_EQ(refusals[0].layers, 6);
  EXPECT_EQ(refusals[0].place, "c");
  EXPECT_EQ(refusals[0].error, 5e-6);
  EXPECT_DOUBLE_EQ(refusals[0].limit, 3e-6);
  EXPECT_EQ(refusals[1].kernel, "winograd");
  EXPECT_EQ(refusals[1].error, kInfinity);
}

TEST_F(RefusalTest, TheBestPredictionsComeFirstAndThereIsALimit) {
  std::vector<Refusal> refusals;
  AddRefusedKernel("digits", 1, "a", {.error = 1}, refusals);
  for (const double speedup : {1.2, 1.5, 1.4}) {
    refusals.push_back({.predicted_speedup = speedup});
  }
  SortRefusals(refusals);
  std::vector<double> order;
  for (const Refusal& refusal : refusals) order.push_back(refusal.predicted_speedup);
  EXPECT_THAT(order, ElementsAre(1.5, 1.4, 1.2, 0));
  EXPECT_EQ(refusals.back().kernel, "digits");
  refusals.resize(1000);
  SortRefusals(refusals);
  EXPECT_EQ(refusals.size(), size_t{kRefusalsMax});
}

}  // namespace
}  // namespace plait
