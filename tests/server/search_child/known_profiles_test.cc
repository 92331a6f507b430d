#include "server/search_child/known_profiles.h"

#include <string>

#include <gtest/gtest.h>

#include "proto/wire/measurement.h"

namespace plait {
namespace {

ProfileKey KeyOf(const std::string& family) {
  ProfileKey key;
  key.device_fingerprint = "cpu";
  key.family = family;
  return key;
}

// Nothing is measured but what the cache was not given.
class CountingProfiler : public Profiler {
 public:
  absl::StatusOr<std::vector<Profile>> Measure(absl::Span<const ProfileRequest> requests) override {
    measured += static_cast<int>(requests.size());
    return std::vector<Profile>(requests.size(), Profile{.latency_us_median = 1, .samples = 3});
  }
  int measured = 0;
};

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

  int MeasuredOf(const std::string& family) {
    MeasurementLog log;
    CountingProfiler profiler;
    ProfileCache profiles(profiler, log);
    EXPECT_FALSE(LoadProfiles(start_, profiles).has_value());
    EXPECT_TRUE(profiles.Resolve({{{1, 0}, KeyOf(family)}}).ok());
    return profiler.measured;
  }

  internal::Start start_;
};

TEST_F(KnownProfilesTest, AKernelBesideWhichTheDeviceWasNotSteadyIsMeasuredAgain) {
  AddStored("steady", kYardstickDriftMax);
  AddStored("moved", 2 * kYardstickDriftMax);
  EXPECT_EQ(MeasuredOf("steady"), 0);
  EXPECT_EQ(MeasuredOf("moved"), 1);
}

// Predictions would stand in for it.
TEST_F(KnownProfilesTest, WhatWasRecordedOfADescribedDeviceIsKept) {
  AddStored("moved", 2 * kYardstickDriftMax);
  start_.mutable_device()->set_predicted(true);
  EXPECT_EQ(MeasuredOf("moved"), 0);
}

}  // namespace
}  // namespace plait
