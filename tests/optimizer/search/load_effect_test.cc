#include "optimizer/search/load_effect.h"

#include <cmath>

#include <gtest/gtest.h>

#include "tests/fakes/fake_device.h"

namespace plait {
namespace {

TEST(LoadEffectTest, IsMeasuredOnAPlanBesideItself) {
  FakeVerifier verifier;
  FakeProfiler profiler;
  const absl::StatusOr<LoadEffect> effect =
      MeasureLoadEffect({}, FakeDevice(2), FakeCatalog(2), profiler, verifier, 10);
  ASSERT_TRUE(effect.ok()) << effect.status();
  EXPECT_EQ(effect->loads, kLoadsOfEffect);
  // The fake has noise in its rounds, and no effect of loads.
  EXPECT_LT(effect->deviation, 0.01);
  EXPECT_EQ(verifier.calls, 1);
  EXPECT_TRUE(verifier.plan_errors.empty()) << verifier.plan_errors[0];
}

TEST(LoadEffectTest, IsMeasuredOnWhereAnEarlierJobEnded) {
  FakeVerifier verifier;
  FakeProfiler profiler;
  const auto measure = [&](const LoadEffect& known) {
    return MeasureLoadEffect(known, FakeDevice(2), FakeCatalog(2), profiler, verifier, 10).value();
  };
  const LoadEffect whole = measure({0.1, 8});
  EXPECT_EQ(whole.loads, kLoadsOfEffect);
  EXPECT_NEAR(whole.deviation, 0.1 * std::sqrt(8.0 / kLoadsOfEffect), 0.01);
  EXPECT_EQ(verifier.calls, 1);
  EXPECT_EQ(measure(whole), whole);
  EXPECT_EQ(verifier.calls, 1);
}

// Answers about one plan where it was asked about two.
class ForgetfulVerifier : public FakeVerifier {
 public:
  absl::StatusOr<std::vector<CandidateMeasurement>> Verify(absl::Span<const PlanCandidate>,
                                                           const VerificationBatch&) override {
    return std::vector<CandidateMeasurement>(1);
  }
};

TEST(LoadEffectTest, IsNoGuess) {
  ForgetfulVerifier verifier;
  FakeProfiler profiler;
  EXPECT_EQ(
      MeasureLoadEffect({}, FakeDevice(2), FakeCatalog(2), profiler, verifier, 10).status().code(),
      absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace plait
