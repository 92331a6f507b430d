#include "server/search_child/known_profiles.h"

#include <string>

#include <gtest/gtest.h>

#include "optimizer/cost/replaying_profiler.h"
#include "proto/wire/measurement.h"

namespace plait {
namespace {

ProfileKey KeyOf(const std::string& family) {
  ProfileKey key;
  key.device_fingerprint = "cpu";
  key.family = family;
  return key;
}

class KnownProfilesTest : public testing::Test {
 protected:
  // A job of before measured the kernel while the device's speed moved by as much.
  void AddStored(const std::string& family, double drift) {
    Profile profile{.latency_us_median = 42, .latency_us_p10 = 41, .samples = 9};
    profile.yardsticks = {
        .multiply_add_flops_per_us = 100, .read_bytes_per_us = 10, .drift = drift};
    v1::StoredProfile& stored = *start_.add_profiles();
    stored.set_key(KeyOf(family).ToString());
    *stored.mutable_profile() = wire::ProfileToProto(profile);
  }

  // Whether a job finds the kernel among what is known; there is nothing to measure it on.
  bool IsKnown(const std::string& family) {
    const MeasurementLog nothing;
    ReplayingProfiler profiler(nothing);
    MeasurementLog log;
    ProfileCache profiles(profiler, log);
    EXPECT_FALSE(LoadProfiles(start_, profiles).has_value());
    const absl::Status found = profiles.Resolve({{{1, 0}, KeyOf(family)}});
    EXPECT_TRUE(found.ok() || absl::IsNotFound(found)) << found;
    return found.ok();
  }

  internal::Start start_;
};

TEST_F(KnownProfilesTest, AKernelBesideWhichTheDeviceWasNotSteadyIsMeasuredAgain) {
  AddStored("steady", kYardstickDriftMax);
  AddStored("moved", 2 * kYardstickDriftMax);
  EXPECT_TRUE(IsKnown("steady"));
  EXPECT_FALSE(IsKnown("moved"));
}

// Predictions would stand in for it.
TEST_F(KnownProfilesTest, WhatWasRecordedOfADescribedDeviceIsKept) {
  AddStored("moved", 2 * kYardstickDriftMax);
  start_.mutable_device()->set_predicted(true);
  EXPECT_TRUE(IsKnown("moved"));
}

}  // namespace
}  // namespace plait
