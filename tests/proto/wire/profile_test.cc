#include "proto/wire/profile.h"

#include <functional>
#include <limits>

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/proto/wire/details.h"

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

TEST(WireProfileTest, AcceptsAProfile) {
  EXPECT_TRUE(CheckStoredProfile(GoodProfile(), "profiles[2]").ok());
}

TEST(WireProfileTest, RefusesWhatASearchMustNotTrust) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const struct {
    const char* field;
    std::function<void(v1::StoredProfile&)> change;
  } kCases[] = {
      {"key", [](auto& stored) { stored.clear_key(); }},
      {"key", [](auto& stored) { stored.set_key(std::string(65'537, 'k')); }},
      {"device_fingerprint", [](auto& stored) { stored.clear_device_fingerprint(); }},
      {"device_fingerprint",
       [](auto& stored) { stored.set_device_fingerprint("cuda;_sm_90;_simulated"); }},
      {"profile.latency_us_median",
       [](auto& stored) { stored.mutable_profile()->set_latency_us_median(-1); }},
      {"profile.latency_us_p10",
       [&](auto& stored) { stored.mutable_profile()->set_latency_us_p10(infinity); }},
      {"profile.latency_us_mad",
       [&](auto& stored) { stored.mutable_profile()->set_latency_us_mad(nan); }},
      {"profile.samples", [](auto& stored) { stored.mutable_profile()->set_samples(0); }},
      {"profile.samples",
       [](auto& stored) { stored.mutable_profile()->set_samples(kProfileSamplesMax + 1); }},
      {"measure_time.seconds",
       [](auto& stored) { stored.mutable_measure_time()->set_seconds(-1); }},
      {"profile.compute_share",
       [](auto& stored) { stored.mutable_profile()->set_compute_share(1.1); }},
      {"profile.bytes", [](auto& stored) { stored.mutable_profile()->set_bytes(-1); }},
      {"profile.yardsticks.multiply_add_flops_per_us",
       [](auto& stored) {
         stored.mutable_profile()->mutable_yardsticks()->set_multiply_add_flops_per_us(-1);
       }},
      {"profile.yardsticks.read_bytes_per_us",
       [&](auto& stored) {
         stored.mutable_profile()->mutable_yardsticks()->set_read_bytes_per_us(nan);
       }},
      {"profile.yardsticks.drift",
       [&](auto& stored) { stored.mutable_profile()->mutable_yardsticks()->set_drift(infinity); }},
      {"profile.flops", [](auto& stored) { stored.mutable_profile()->set_flops(-1); }},
      {"profile.workspace_bytes",
       [](auto& stored) { stored.mutable_profile()->set_workspace_bytes(-1); }},
      {"profile.implementation",
       [](auto& stored) { stored.mutable_profile()->set_implementation("one\ntwo"); }},
      {"profile.implementation",
       [](auto& stored) { stored.mutable_profile()->set_implementation(std::string(4097, 'k')); }},
  };
  for (const auto& [field, change] : kCases) {
    v1::StoredProfile stored = GoodProfile();
    change(stored);
    const absl::Status status = CheckStoredProfile(stored, "profiles[2]");
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << field;
    EXPECT_EQ(FieldOf(status), absl::StrCat("profiles[2].", field));
  }
}

}  // namespace
}  // namespace plait::wire
