#include "proto/wire/measurement.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace plait::wire {
namespace {

constexpr double kTolerance = 1e-4;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

TEST(WireMeasurementTest, AProfileComesBackToTheSameBits) {
  const Profile profile = {1e-300, 0, 12345.678901234567, 1, std::numeric_limits<int64_t>::max(), 0,
                           1.0 / 3};
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

TEST(WireMeasurementTest, MoreSamplesThanAnIntCountsAreStillMany) {
  v1::Profile proto = ProfileToProto({.latency_us_median = 1, .samples = 1});
  proto.set_samples(std::numeric_limits<int64_t>::max());
  EXPECT_EQ(ProfileFromProto(proto)->samples, std::numeric_limits<int>::max());
}

CandidateMeasurement Sample(Verdict verdict, double max_rel_error) {
  return {"id\twith\ntab", {0.1, 1.0 / 3, 1e9}, {verdict, 0.5, max_rel_error, 3}, 2, ""};
}

CandidateMeasurement RoundTrip(const CandidateMeasurement& measurement) {
  return CandidateMeasurementFromProto(CandidateMeasurementToProto(measurement, kTolerance),
                                       kTolerance);
}

TEST(WireMeasurementTest, AMeasurementComesBackWithItsVerdict) {
  for (const auto& [verdict, error] :
       {std::pair(Verdict::kEquivalent, 1e-7), std::pair(Verdict::kEquivalent, kTolerance),
        std::pair(Verdict::kDifferent, 0.5), std::pair(Verdict::kDifferent, kInfinity),
        std::pair(Verdict::kInconclusive, 0.0)}) {
    const CandidateMeasurement measurement = Sample(verdict, error);
    EXPECT_EQ(RoundTrip(measurement), measurement) << VerdictName(verdict) << " " << error;
  }
}

// As of integers that differ by one in a million, or of outputs of another shape.
TEST(WireMeasurementTest, ADifferenceWithinTheToleranceStaysOne) {
  for (const double error : {0.0, 1e-6, kNaN}) {
    const CandidateMeasurement read = RoundTrip(Sample(Verdict::kDifferent, error));
    EXPECT_EQ(read.equivalence.verdict, Verdict::kDifferent) << error;
    EXPECT_TRUE(std::isinf(read.equivalence.max_rel_error)) << error;
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
  CandidateMeasurement measurement = Sample(Verdict::kEquivalent, 0);
  measurement.equivalence.inputs_tried = 0;
  EXPECT_EQ(RoundTrip(measurement).equivalence.verdict, Verdict::kInconclusive);
}

}  // namespace
}  // namespace plait::wire
