#include "client/stored_profiles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu_worker/backends/catalogs.h"

namespace plait {
namespace {

using ::testing::HasSubstr;

ProfileKey Key() {
  ProfileKey key;
  key.device_fingerprint = "cpu;_here";
  key.family = "conv";
  key.variant = "nhwc";
  key.version = "v2";
  key.graph_text =
      "graph {\n  input %x: float32[4]\n  %y: float32[4] = Relu(%x) {}\n  output %y\n}\n";
  key.formats = "plain,plain";
  return key;
}

v1::StoredProfile ProfileOf(const ProfileKey& key) {
  v1::StoredProfile profile;
  profile.set_device_fingerprint(key.device_fingerprint);
  profile.set_key(key.ToString());
  profile.mutable_profile()->set_latency_us_median(12.625);
  profile.mutable_profile()->set_samples(10);
  profile.mutable_profile()->set_compute_share(0.25);
  profile.mutable_profile()->set_implementation("strict/generated/v4");
  profile.mutable_profile()->set_workspace_bytes(4096);
  profile.mutable_measure_time()->set_seconds(1'800'000'000);
  return profile;
}

TEST(StoredProfilesTest, TellsOneForPeopleAndScripts) {
  const v1::StoredProfile profile = ProfileOf(Key());
  const Json json = StoredProfileJson(profile, /*whole=*/true);
  EXPECT_EQ(json["family"], "conv");
  EXPECT_EQ(json["operators"], "Relu");
  EXPECT_EQ(json["latency_us_median"], 12.625);
  EXPECT_EQ(json["compute_share"], 0.25);
  EXPECT_EQ(json["implementation"], "strict/generated/v4");
  EXPECT_EQ(json["workspace_bytes"], 4096);
  EXPECT_EQ(json["measured_at"], "2027-01-15T08:00:00Z");
  EXPECT_EQ(json["id"], ProfileId(profile));
  EXPECT_FALSE(StoredProfileJson(profile, /*whole=*/false).contains("graph"));
  const std::string row = ProfileRow(profile);
  EXPECT_THAT(row, HasSubstr("conv nhwc"));
  EXPECT_THAT(row, HasSubstr("12.62"));
}

TEST(StoredProfilesTest, WhatHasNoReadableKeyIsListedAllTheSame) {
  v1::StoredProfile other = ProfileOf(Key());
  other.set_key("of another form");
  EXPECT_EQ(StoredProfileJson(other, false)["family"], "unknown");
  EXPECT_NE(ProfileId(other), ProfileId(ProfileOf(Key())));
  v1::StoredProfile effect;
  effect.set_device_fingerprint("cpu;_here");
  effect.set_key("load_effect");
  effect.mutable_load_effect()->set_deviation(0.01);
  effect.mutable_load_effect()->set_loads(20);
  EXPECT_EQ(StoredProfileJson(effect, false)["deviation"], 0.01);
  EXPECT_THAT(ProfileRow(effect), HasSubstr("load_effect"));
}

TEST(StoredProfilesTest, ComesBackFromALineAsItWas) {
  const v1::StoredProfile profile = ProfileOf(Key());
  const auto line = ProfileLine(profile);
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(line->find('\n'), std::string::npos);
  const auto read = ParseProfileLine(*line);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->SerializeAsString(), profile.SerializeAsString());
  for (const char* text : {"{", "{\"profile\": 3}", "{\"colour\": 1}"}) {
    EXPECT_EQ(ParseProfileLine(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST(StoredProfilesTest, AMissIsExplainedByTheNearestProfile) {
  ProfileIndex index;
  EXPECT_EQ(index.WhyMissing(Key()), "nothing of this family was measured on the device");
  ProfileKey other = Key();
  other.graph_text =
      "graph {\n  input %x: float32[8]\n  %y: float32[8] = Relu(%x) {}\n  output %y\n}\n";
  index.Add(ProfileOf(other));
  EXPECT_THAT(index.WhyMissing(Key()), HasSubstr("other shapes"));
  other = Key();
  other.variant = "blocked";
  index.Add(ProfileOf(other));
  EXPECT_THAT(index.WhyMissing(Key()), HasSubstr("of these nodes 1 others were measured"));
  other = Key();
  other.device_fingerprint = "cpu;_there";
  index.Add(ProfileOf(other));
  EXPECT_EQ(index.WhyMissing(Key()), "measured on another device: cpu;_there");
  other = Key();
  other.version = "v1";
  index.Add(ProfileOf(other));
  EXPECT_EQ(index.WhyMissing(Key()), "measured with version v1 of its code, which is v2 now");
  v1::StoredProfile unsteady = ProfileOf(Key());
  unsteady.mutable_profile()->mutable_yardsticks()->set_drift(0.1);
  index.Add(unsteady);
  EXPECT_EQ(index.WhyMissing(Key()), "measured while the device's speed moved");
  index.Add(ProfileOf(Key()));
  EXPECT_EQ(index.WhyMissing(Key()), "");
}

TEST(StoredProfilesTest, WhatNoSearchFindsAnyMoreIsStale) {
  const auto catalog = CatalogFor({.id = "cpu", .backend = "cpu", .instruction_set = "avx2"});
  ASSERT_TRUE(catalog.ok()) << catalog.status();
  ProfileKey key = Key();
  key.family = "elementwise";
  key.version = std::string((*catalog)->Version("elementwise"));
  ASSERT_FALSE(key.version.empty());
  EXPECT_FALSE(IsStale(ProfileOf(key), **catalog));
  key.version = "older";
  EXPECT_TRUE(IsStale(ProfileOf(key), **catalog));
  key.family = "gone";
  EXPECT_TRUE(IsStale(ProfileOf(key), **catalog));
  v1::StoredProfile effect = ProfileOf(key);
  effect.set_key("load_effect");
  EXPECT_FALSE(IsStale(effect, **catalog));
}

}  // namespace
}  // namespace plait
