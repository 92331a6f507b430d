#include "tests/storage/store_test.h"

namespace plait {
namespace {

using ProfileStoreTest = StoreTest;
INSTANTIATE_STORE_TEST(ProfileStoreTest);

v1::StoredProfile ProfileOf(const std::string& fingerprint, const std::string& key,
                            double latency_us, int64_t samples = 10) {
  v1::StoredProfile profile;
  profile.set_device_fingerprint(fingerprint);
  profile.set_key(key);
  profile.mutable_profile()->set_latency_us_median(latency_us);
  profile.mutable_profile()->set_samples(samples);
  return profile;
}

TEST_P(ProfileStoreTest, KeepsFractionsAndAwkwardKeys) {
  const std::string keys[] = {"", "a'b\"c", std::string("a\0b", 3), "\xff\xfe is no UTF-8? ä"};
  std::vector<v1::StoredProfile> stored;
  for (const std::string& key : {keys[0], keys[1], keys[2]}) {
    stored.push_back(ProfileOf("cpu", key, 0.1234567890123456));
    stored.back().mutable_profile()->set_latency_us_p10(1e-9);
    stored.back().mutable_profile()->set_compute_share(1.0 / 3);
    stored.back().mutable_profile()->mutable_yardsticks()->set_read_bytes_per_us(1e5 / 3);
    stored.back().mutable_measure_time()->set_nanos(7);
  }
  ASSERT_TRUE(profiles().Put(stored).ok());
  const absl::StatusOr<std::vector<v1::StoredProfile>> read = profiles().List("cpu", {}, 10);
  ASSERT_TRUE(read.ok()) << read.status();
  // Paging starts after the empty key, which proto/wire refuses.
  ASSERT_EQ(read->size(), 3u);
  for (size_t index = 0; index < 3; ++index) {
    EXPECT_EQ((*read)[index].profile().SerializeAsString(),
              stored[index].profile().SerializeAsString());
  }
}

TEST_P(ProfileStoreTest, ReplacesAProfileOnlyByOneWithMoreSamples) {
  EXPECT_EQ(*profiles().Put({ProfileOf("cpu", "k", 1, 10)}), 1);
  EXPECT_EQ(*profiles().Put({ProfileOf("cpu", "k", 2, 10)}), 0);
  EXPECT_EQ(*profiles().Put({ProfileOf("cpu", "k", 3, 9)}), 0);
  EXPECT_EQ((*profiles().List("", {}, 10))[0].profile().latency_us_median(), 1);
  EXPECT_EQ(*profiles().Put({ProfileOf("cpu", "k", 4, 11)}), 1);
  EXPECT_EQ((*profiles().List("", {}, 10))[0].profile().latency_us_median(), 4);
  EXPECT_EQ(*profiles().Count(), 1);
}

TEST_P(ProfileStoreTest, ReplacesAProfileByALaterOneWithAsManySamples) {
  for (const int64_t seconds : {100, 101, 99}) {
    v1::StoredProfile profile = ProfileOf("cpu", "k", static_cast<double>(seconds));
    profile.mutable_measure_time()->set_seconds(seconds);
    ASSERT_TRUE(profiles().Put({profile}).ok());
  }
  EXPECT_EQ((*profiles().List("", {}, 10))[0].profile().latency_us_median(), 101);
}

TEST_P(ProfileStoreTest, AnUnsteadyProfileIsReplacedByAnyAndReplacesNoSteadyOne) {
  v1::StoredProfile unsteady = ProfileOf("cpu", "k", 1, 10);
  unsteady.mutable_profile()->mutable_yardsticks()->set_drift(0.1);
  EXPECT_EQ(*profiles().Put({unsteady}), 1);
  unsteady.mutable_profile()->set_latency_us_median(2);
  unsteady.mutable_profile()->set_samples(3);
  unsteady.mutable_measure_time()->set_seconds(1);
  EXPECT_EQ(*profiles().Put({unsteady}), 1);
  EXPECT_EQ(*profiles().Put({ProfileOf("cpu", "k", 3, 1)}), 1);
  unsteady.mutable_profile()->set_samples(10);
  unsteady.mutable_measure_time()->set_seconds(2);
  EXPECT_EQ(*profiles().Put({unsteady}), 0);
  EXPECT_EQ((*profiles().List("", {}, 10))[0].profile().latency_us_median(), 3);
}

TEST_P(ProfileStoreTest, ALaterLoadEffectReplacesAnEarlier) {
  for (const double deviation : {0.03, 0.01, 0.01}) {
    v1::StoredProfile effect;
    effect.set_device_fingerprint("cpu");
    effect.set_key("load_effect");
    effect.mutable_load_effect()->set_deviation(deviation);
    effect.mutable_load_effect()->set_loads(20);
    ASSERT_TRUE(profiles().Put({effect}).ok());
    EXPECT_EQ((*profiles().List("", {}, 10))[0].load_effect().deviation(), deviation);
  }
  EXPECT_EQ(*profiles().Count(), 1);
}

TEST_P(ProfileStoreTest, KeepsDevicesApart) {
  ASSERT_TRUE(profiles().Put({ProfileOf("b", "k", 1), ProfileOf("a", "k", 2)}).ok());
  EXPECT_EQ(profiles().List("a", {}, 10)->size(), 1u);
  EXPECT_EQ((*profiles().List("a", {}, 10))[0].profile().latency_us_median(), 2);
  EXPECT_TRUE(profiles().List("c", {}, 10)->empty());
}

TEST_P(ProfileStoreTest, DropsWhatIsNamed) {
  ASSERT_TRUE(profiles()
                  .Put({ProfileOf("a", "k", 1), ProfileOf("a", "l", 2), ProfileOf("b", "k", 3)})
                  .ok());
  EXPECT_EQ(*profiles().Drop({{"a", "k"}, {"b", "l"}, {"c", "k"}, {"a", "k"}}), 1);
  EXPECT_EQ(*profiles().Drop({}), 0);
  EXPECT_EQ(*profiles().Count(), 2);
  EXPECT_EQ((*profiles().List("a", {}, 10))[0].key(), "l");
  EXPECT_EQ((*profiles().List("b", {}, 10))[0].key(), "k");
}

TEST_P(ProfileStoreTest, DropsTheOldestAboveItsLimits) {
  std::vector<v1::StoredProfile> stored;
  for (int number = 0; number < 6; ++number) {
    // The newest ones have the names that sort first.
    stored.push_back(ProfileOf(number % 3 == 0 ? "a" : "b", absl::StrCat("k", 9 - number), 1));
    stored.back().mutable_measure_time()->set_seconds(number);
  }
  ASSERT_TRUE(profiles().Put(stored).ok());
  const auto keys = [&] {
    std::vector<std::string> found;
    const std::vector<v1::StoredProfile> listed = *profiles().List("", {}, 10);
    for (const v1::StoredProfile& profile : listed) found.push_back(profile.key());
    return found;
  };
  constexpr int64_t kAnyBytes = 1 << 20;
  EXPECT_EQ(*profiles().DropOldest({4, kAnyBytes}, {6, kAnyBytes}), 0);
  EXPECT_EQ(*profiles().DropOldest({3, kAnyBytes}, {6, kAnyBytes}), 1);
  EXPECT_EQ(keys(), (std::vector<std::string>{"k6", "k9", "k4", "k5", "k7"}));
  EXPECT_EQ(*profiles().DropOldest({3, kAnyBytes}, {2, kAnyBytes}), 3);
  EXPECT_EQ(keys(), (std::vector<std::string>{"k4", "k5"}));
}

// Keys of 64 KiB would let a device have 6 GiB of profiles, which no search could be given.
TEST_P(ProfileStoreTest, CountsBytesAsWellAsProfiles) {
  std::vector<v1::StoredProfile> stored;
  for (int number = 0; number < 6; ++number) {
    const char name = static_cast<char>('f' - number);
    stored.push_back(ProfileOf(number < 4 ? "a" : "b", std::string(1000, name), 1));
    // Two at a time were measured in the same second.
    stored.back().mutable_measure_time()->set_seconds(1000 + number / 2);
  }
  ASSERT_TRUE(profiles().Put(stored).ok());
  const auto names = [](const std::vector<v1::StoredProfile>& listed) {
    std::string found;
    for (const v1::StoredProfile& profile : listed) found += profile.key()[0];
    return found;
  };
  EXPECT_EQ(names(*profiles().ListNewest("a", {100, 1 << 20})), "cdef");
  EXPECT_EQ(names(*profiles().ListNewest("a", {3, 1 << 20})), "cde");
  EXPECT_EQ(names(*profiles().ListNewest("a", {100, 3500})), "cde");
  EXPECT_EQ(names(*profiles().ListNewest("a", {100, 1500})), "c");
  EXPECT_EQ(names(*profiles().ListNewest("b", {100, 500})), "");
  EXPECT_EQ(*profiles().DropOldest({100, 5000}, {100, 10000}), 0);
  EXPECT_EQ(*profiles().DropOldest({100, 3500}, {100, 10000}), 1);
  EXPECT_EQ(names(*profiles().List("", {}, 10)), "cdeab");
  EXPECT_EQ(*profiles().DropOldest({100, 3500}, {100, 4500}), 1);
  EXPECT_EQ(names(*profiles().List("", {}, 10)), "cdab");
}

TEST_P(ProfileStoreTest, ListsEveryProfileOnceInOrder) {
  for (int number = 0; number < 10; ++number) {
    const std::string fingerprint = absl::StrCat("device", number % 2);
    ASSERT_TRUE(profiles().Put({ProfileOf(fingerprint, absl::StrCat("k", number), 1)}).ok());
  }
  std::vector<std::string> seen;
  ProfilePosition after;
  while (true) {
    const std::vector<v1::StoredProfile> page = *profiles().List("", after, 3);
    if (page.empty()) break;
    for (const v1::StoredProfile& profile : page) seen.push_back(profile.key());
    after = {page.back().device_fingerprint(), page.back().key()};
  }
  EXPECT_EQ(seen,
            (std::vector<std::string>{"k0", "k2", "k4", "k6", "k8", "k1", "k3", "k5", "k7", "k9"}));
}

}  // namespace
}  // namespace plait
