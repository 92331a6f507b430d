#include "proto/wire/profile.h"

#include <functional>
#include <limits>

#include <gtest/gtest.h>

namespace plait::wire {
namespace {

v1::StoredProfile GoodProfile() {
  v1::StoredProfile profile;
  profile.set_key("conv");
  profile.set_device_fingerprint("cpu/x");
  profile.mutable_profile()->set_latency_us_median(12.5);
  profile.mutable_profile()->set_samples(1);
  return profile;
}

TEST(WireProfileTest, AcceptsAProfile) { EXPECT_TRUE(CheckStoredProfile(GoodProfile()).ok()); }

TEST(WireProfileTest, RefusesWhatASearchMustNotTrust) {
  const std::function<void(v1::StoredProfile&)> kChanges[] = {
      [](auto& profile) { profile.clear_key(); },
      [](auto& profile) { profile.set_key(std::string(65'537, 'k')); },
      [](auto& profile) { profile.clear_device_fingerprint(); },
      [](auto& profile) { profile.mutable_profile()->set_latency_us_median(-1); },
      [](auto& profile) {
        profile.mutable_profile()->set_latency_us_p10(std::numeric_limits<double>::infinity());
      },
      [](auto& profile) {
        profile.mutable_profile()->set_latency_us_mad(std::numeric_limits<double>::quiet_NaN());
      },
      [](auto& profile) { profile.mutable_profile()->set_samples(0); },
      [](auto& profile) { profile.mutable_profile()->set_compute_share(1.1); },
      [](auto& profile) { profile.mutable_profile()->set_bytes(-1); },
      [](auto& profile) { profile.mutable_profile()->set_flops(-1); },
  };
  int number = 0;
  for (const auto& change : kChanges) {
    v1::StoredProfile profile = GoodProfile();
    change(profile);
    EXPECT_TRUE(absl::IsInvalidArgument(CheckStoredProfile(profile))) << number;
    ++number;
  }
}

}  // namespace
}  // namespace plait::wire
