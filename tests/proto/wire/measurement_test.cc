#include "proto/wire/measurement.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "base/limits.h"

namespace plait::wire {
namespace {

constexpr double kTolerance = 1e-4;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

TEST(WireMeasurementTest, AProfileComesBackToTheSameBits) {
  Profile profile = {1e-300, 0,       12345.678901234567,   1, std::numeric_limits<int64_t>::max(),
                     0,      1.0 / 3, {1e5 / 3, 0.1, 1e-17}};
  profile.implementation = "strict/cudnn/eng28/k2=1";
  profile.workspace_bytes = int64_t{1} << 40;
  const absl::StatusOr<Profile> read = ProfileFromProto(ProfileToProto(profile));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, profile);
}

TEST(WireMeasurementTest, AProfileThatNobodyMayTrustIsRefused) {
  Profile profile = {.latency_us_median = 1, .samples = 1};
  EXPECT_TRUE(ProfileFromProto(ProfileToProto(profile)).ok());
  profile.latency_us_median = kNaN;
  EXPECT_TRUE(absl::IsInvalidArgument(ProfileFromProto(ProfileToProto(profile)).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(ProfileFromProto(ProfileToProto(Profile())).status()));
}

TEST(WireMeasurementTest, RatesThatNothingHasAreUnknown) {
  const Yardsticks yardsticks = {1e5 / 3, 0.1, 0.02};
  EXPECT_EQ(YardsticksFromProto(YardsticksToProto(yardsticks)), yardsticks);
  EXPECT_EQ(YardsticksFromProto(YardsticksToProto({-1, kInfinity, kNaN})), Yardsticks());
  EXPECT_EQ(YardsticksFromProto({}), Yardsticks());
}

// Errors that are all of one size, with the verdict that they deserve.
CandidateMeasurement Sample(double error) {
  CandidateMeasurement measurement{
      "id\twith\ntab", {0.1, 1.0 / 3, 1e9}, {1, 2}, {}, 2, {7, 0.1}, ""};
  measurement.equivalence = {
      .max_abs_error = 0.5,
      .max_rel_error = error,
      .inputs_tried = 3,
      .max_channel_error = error / 3,
      .outputs = {{0.5, 0, 1.0 / 3, 0.25}, {0, 1.0 / 7, kInfinity, 1.0 / 9}}};
  measurement.equivalence.verdict = JudgeErrors(measurement.equivalence, kTolerance);
  return measurement;
}

CandidateMeasurement RoundTrip(const CandidateMeasurement& measurement) {
  return CandidateMeasurementFromProto(CandidateMeasurementToProto(measurement), kTolerance);
}

TEST(WireMeasurementTest, AMeasurementComesBackWithItsVerdict) {
  for (const auto& [error, verdict] :
       {std::pair(1e-7, Verdict::kEquivalent), std::pair(kTolerance, Verdict::kEquivalent),
        std::pair(0.5, Verdict::kDifferent), std::pair(kInfinity, Verdict::kDifferent)}) {
    const CandidateMeasurement measurement = Sample(error);
    EXPECT_EQ(measurement.equivalence.verdict, verdict) << error;
    EXPECT_EQ(RoundTrip(measurement), measurement) << error;
  }
}

TEST(WireMeasurementTest, ADeadOutputIsInconclusiveUnlessItDiffers) {
  CandidateMeasurement measurement = Sample(0);
  measurement.equivalence.dead_outputs = true;
  EXPECT_EQ(RoundTrip(measurement).equivalence.verdict, Verdict::kInconclusive);
  measurement.equivalence.max_rel_error = 0.5;
  EXPECT_EQ(RoundTrip(measurement).equivalence.verdict, Verdict::kDifferent);
  EXPECT_TRUE(RoundTrip(measurement).equivalence.dead_outputs);
}

TEST(WireMeasurementTest, AChannelBeyondTheToleranceIsADifference) {
  for (const double error : {0.5, kInfinity, kNaN}) {
    CandidateMeasurement measurement = Sample(1e-7);
    measurement.equivalence.max_channel_error = error;
    EXPECT_EQ(RoundTrip(measurement).equivalence.verdict, Verdict::kDifferent) << error;
  }
}

TEST(WireMeasurementTest, WhatIsAsNearToExactOutputsIsEqualWhereItMayBeRounding) {
  for (const auto& [ratio, verdict] :
       {std::pair(0.0, Verdict::kDifferent), std::pair(0.9, Verdict::kEquivalent),
        std::pair(kExactRatioMax, Verdict::kEquivalent), std::pair(2.1, Verdict::kDifferent),
        std::pair(-1.0, Verdict::kDifferent), std::pair(kNaN, Verdict::kDifferent)}) {
    for (const double error : {1e-2, 1.1e-2}) {
      CandidateMeasurement measurement = Sample(error);
      measurement.equivalence.exact_ratio = ratio;
      EXPECT_EQ(RoundTrip(measurement).equivalence.verdict,
                error == 1e-2 ? verdict : Verdict::kDifferent)
          << ratio;
    }
  }
}

TEST(WireMeasurementTest, AnErrorThatIsNoNumberIsADifference) {
  EXPECT_EQ(RoundTrip(Sample(kNaN)).equivalence.verdict, Verdict::kDifferent);
}

TEST(WireMeasurementTest, WhatADeviceChoseArrives) {
  CandidateMeasurement measurement = Sample(0);
  measurement.step_variants = {"", "strict/cudnn/eng28/k2=1"};
  EXPECT_EQ(RoundTrip(measurement).step_variants, measurement.step_variants);
}

TEST(WireMeasurementTest, AClockArrivesUnlessNothingHasIt) {
  CandidateMeasurement measurement = Sample(0);
  measurement.clock = {1755, 1980, 12, 1, {"heat", "power"}};
  EXPECT_EQ(RoundTrip(measurement), measurement);
  CandidateMeasurement unsorted = measurement;
  unsorted.clock.limits = {"power", "heat", "power"};
  EXPECT_EQ(RoundTrip(unsorted), measurement);
  measurement.clock.spans_moving = 13;
  EXPECT_EQ(RoundTrip(measurement).clock, DeviceClock());
}

TEST(WireMeasurementTest, LoadTimesThatAreNoneAreUnknown) {
  for (const std::vector<double>& load_ms :
       {std::vector<double>{1, kNaN}, {kInfinity, 1}, {-1, 1}, {1, 2, 3}}) {
    CandidateMeasurement measurement = Sample(0);
    measurement.load_ms = load_ms;
    EXPECT_TRUE(RoundTrip(measurement).load_ms.empty());
  }
}

// Whoever writes them to a log takes as many samples as there are rounds.
TEST(WireMeasurementTest, SamplesThatTheirLoadsDoNotFitAreNone) {
  CandidateMeasurement measurement = Sample(0);
  measurement.latency_us = {1, 2, 3};
  measurement.load_rounds = {2, 1};
  EXPECT_EQ(RoundTrip(measurement).latency_us, measurement.latency_us);
  for (const std::vector<int>& load_rounds :
       {std::vector<int>{200'000'000}, {2, 2}, {3, 0}, {4, -1}, {2}, {}}) {
    measurement.load_rounds = load_rounds;
    EXPECT_TRUE(RoundTrip(measurement).latency_us.empty());
    EXPECT_TRUE(RoundTrip(measurement).load_rounds.empty());
  }
  measurement.load_rounds = {2, 1};
  for (const double us : {kInfinity, kNaN, 0.0, -1.0, 2 * kLatencyUsMax}) {
    measurement.latency_us[1] = us;
    EXPECT_TRUE(RoundTrip(measurement).latency_us.empty()) << us;
  }
}

TEST(WireMeasurementTest, VariantsOfSeveralLinesAreNone) {
  CandidateMeasurement measurement = Sample(0);
  measurement.step_variants = {"one\ntwo"};
  EXPECT_TRUE(RoundTrip(measurement).step_variants.empty());
}

TEST(WireMeasurementTest, TakesABoundedNumberOfOutputs) {
  CandidateMeasurement measurement = Sample(0);
  measurement.equivalence.outputs.resize(kOutputErrorsMax + 1);
  EXPECT_EQ(RoundTrip(measurement).equivalence.outputs.size(),
            static_cast<size_t>(kOutputErrorsMax));
}

TEST(WireMeasurementTest, TheErrorsOfStepsComeBackToTheSameBits) {
  CandidateMeasurement measurement = Sample(0);
  measurement.step_errors = {{1e-300, 1.0 / 3, 1e30, 0}, {}, {0, 0, 0, 1.0 / 7}};
  EXPECT_EQ(RoundTrip(measurement), measurement);
}

// Another step's would be taken for those of the step that has none.
TEST(WireMeasurementTest, ErrorsOfStepsThatAreNoneLeaveNone) {
  for (const double none : {-1.0, kInfinity, kNaN}) {
    for (const LayerError& error : {LayerError{none, 0, 0, 0}, LayerError{0, none, 0, 0},
                                    LayerError{0, 0, none, 0}, LayerError{0, 0, 0, none}}) {
      CandidateMeasurement measurement = Sample(0);
      measurement.step_errors = {{}, error};
      EXPECT_TRUE(RoundTrip(measurement).step_errors.empty()) << none;
    }
  }
}

TEST(WireMeasurementTest, TakesABoundedNumberOfStepErrors) {
  CandidateMeasurement measurement = Sample(0);
  measurement.step_errors.resize(kSearchNodesMax);
  EXPECT_EQ(RoundTrip(measurement).step_errors.size(), static_cast<size_t>(kSearchNodesMax));
  measurement.step_errors.resize(kSearchNodesMax + 1);
  EXPECT_TRUE(RoundTrip(measurement).step_errors.empty());
}

TEST(WireMeasurementTest, TheTimesOfStepsComeBackToTheSameBitsOrNotAtAll) {
  CandidateMeasurement measurement = Sample(0);
  measurement.step_us = {1e-300, 1.0 / 3, 0};
  EXPECT_EQ(RoundTrip(measurement), measurement);
  for (const double none : {-1.0, kInfinity, kNaN}) {
    measurement.step_us = {1, none};
    EXPECT_TRUE(RoundTrip(measurement).step_us.empty()) << none;
  }
}

TEST(WireMeasurementTest, WhatCannotRunHasOnlyItsError) {
  CandidateMeasurement failed;
  failed.candidate = "b";
  failed.error = "step 3: \"no\" such kernel\n";
  EXPECT_EQ(RoundTrip(failed).error, failed.error);
  EXPECT_EQ(RoundTrip(failed).candidate, "b");
  EXPECT_NE(RoundTrip(failed).equivalence.verdict, Verdict::kEquivalent);
}

TEST(WireMeasurementTest, NothingComparedIsNotEquivalent) {
  CandidateMeasurement measurement = Sample(0);
  measurement.equivalence.inputs_tried = 0;
  EXPECT_EQ(RoundTrip(measurement).equivalence.verdict, Verdict::kInconclusive);
}

}  // namespace
}  // namespace plait::wire
