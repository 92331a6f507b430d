#include "optimizer/cost/profile_cache.h"

#include <string>

#include <gtest/gtest.h>

namespace plait {
namespace {

ProfileKey KeyWith(const std::string& family) {
  ProfileKey key;
  key.device_fingerprint = "cpu";
  key.family = family;
  return key;
}

// Answers with the number of requests so far as the latency.
class CountingProfiler : public Profiler {
 public:
  absl::StatusOr<std::vector<Profile>> Measure(absl::Span<const ProfileRequest> requests) override {
    ++batches;
    std::vector<Profile> profiles;
    for (const ProfileRequest& request : requests) {
      families.push_back(request.key.family);
      Profile profile;
      profile.latency_us_median = static_cast<double>(families.size());
      profile.samples = 5;
      profile.yardsticks = yardsticks;
      profiles.push_back(profile);
    }
    if (forgets_one) profiles.pop_back();
    return profiles;
  }

  absl::StatusOr<Yardsticks> ReadYardsticks() override {
    ++readings;
    return yardsticks;
  }

  int batches = 0;
  int readings = 0;
  Yardsticks yardsticks;
  bool forgets_one = false;
  std::vector<std::string> families;
};

class ProfileCacheTest : public testing::Test {
 protected:
  MeasurementLog log_;
  CountingProfiler profiler_;
  ProfileCache cache_{profiler_, log_};
};

TEST_F(ProfileCacheTest, MeasuresEachMissingKeyOnceInOneSortedBatch) {
  ASSERT_TRUE(cache_
                  .Resolve({{{1, 0}, KeyWith("c")},
                            {{2, 0}, KeyWith("a")},
                            {{3, 0}, KeyWith("b")},
                            {{2, 0}, KeyWith("a")}})
                  .ok());
  EXPECT_EQ(profiler_.batches, 1);
  EXPECT_EQ(profiler_.families, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(cache_.profiles_measured(), 3);
  ASSERT_TRUE(cache_.Resolve({{{1, 0}, KeyWith("c")}}).ok());
  EXPECT_EQ(profiler_.batches, 1);
  EXPECT_EQ(cache_.Find({1, 0})->latency_us_median, 3);
}

TEST_F(ProfileCacheTest, AnswersFromLoadedProfilesAndCountsThemOnlyWhenAsked) {
  Profile known;
  known.latency_us_median = 42;
  known.samples = 9;
  cache_.Load(KeyWith("a").ToString(), known);
  EXPECT_EQ(cache_.Find({1, 0}), nullptr);
  EXPECT_EQ(cache_.profiles_cached(), 0);
  ASSERT_TRUE(cache_.Resolve({{{1, 0}, KeyWith("a")}}).ok());
  EXPECT_EQ(cache_.Find({1, 0})->latency_us_median, 42);
  EXPECT_EQ(cache_.profiles_cached(), 1);
  EXPECT_EQ(cache_.profiles_measured(), 0);
  EXPECT_NE(log_.FindProfile(KeyWith("a").ToString()), nullptr);
}

// One of this job, and one of a job before, when the device did everything twice as fast.
TEST_F(ProfileCacheTest, FindsScaledTimesAndKeepsRawOnes) {
  profiler_.yardsticks = {.multiply_add_flops_per_us = 100, .read_bytes_per_us = 10};
  Profile known{.latency_us_median = 42, .samples = 9, .bytes = 5};
  known.yardsticks = {.multiply_add_flops_per_us = 200, .read_bytes_per_us = 20};
  cache_.Load(KeyWith("a").ToString(), known);
  ASSERT_TRUE(cache_.Resolve({{{1, 0}, KeyWith("a")}, {{2, 0}, KeyWith("b")}}).ok());
  ASSERT_TRUE(cache_.Resolve({{{3, 0}, KeyWith("c")}}).ok());
  EXPECT_EQ(cache_.Find({1, 0})->latency_us_median, 84);
  EXPECT_EQ(cache_.Find({2, 0})->latency_us_median, 1);
  EXPECT_EQ(*log_.FindProfile(KeyWith("a").ToString()), known);
  EXPECT_EQ(cache_.measured().front().second.yardsticks, profiler_.yardsticks);
  EXPECT_EQ(log_.yardsticks(), profiler_.yardsticks);
  EXPECT_EQ(profiler_.readings, 1);
}

TEST_F(ProfileCacheTest, CountsProfilesBesideWhichTheDeviceWasNotSteady) {
  profiler_.yardsticks.drift = kYardstickDriftMax;
  ASSERT_TRUE(cache_.Resolve({{{1, 0}, KeyWith("a")}}).ok());
  EXPECT_EQ(cache_.profiles_unsteady(), 0);
  profiler_.yardsticks.drift = 1;
  ASSERT_TRUE(cache_.Resolve({{{2, 0}, KeyWith("b")}, {{3, 0}, KeyWith("c")}}).ok());
  EXPECT_EQ(cache_.profiles_unsteady(), 2);
  EXPECT_EQ(cache_.profiles_measured(), 3);
}

// 60 flops in 10 us on half of the device: beside another of its kind the device does 12 per us.
TEST_F(ProfileCacheTest, ThePeakRateIsThatOfTheWholeDevice) {
  Profile wide{.latency_us_median = 10, .samples = 5, .flops = 100, .compute_share = 1};
  Profile narrow{.latency_us_median = 10, .samples = 5, .flops = 60, .compute_share = 0.5};
  cache_.Load(KeyWith("wide").ToString(), wide);
  cache_.Load(KeyWith("narrow").ToString(), narrow);
  ASSERT_TRUE(cache_.Resolve({{{1, 0}, KeyWith("wide")}}).ok());
  EXPECT_EQ(cache_.peak_flops_per_us(), 10);
  ASSERT_TRUE(cache_.Resolve({{{2, 0}, KeyWith("narrow")}}).ok());
  EXPECT_EQ(cache_.peak_flops_per_us(), 12);
}

TEST_F(ProfileCacheTest, RejectsAProfilerThatAnswersTooLittle) {
  profiler_.forgets_one = true;
  EXPECT_EQ(cache_.Resolve({{{1, 0}, KeyWith("a")}}).code(), absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace plait
