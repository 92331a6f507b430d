#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "plait/v1/profile.grpc.pb.h"
#include "tests/proto/wire/details.h"
#include "tests/server/services/services_fixture.h"

namespace plait {
namespace {

using ProfileStub = v1::ProfileService::Stub;
using testing::ElementsAre;
using testing::IsEmpty;

class ProfileServiceTest : public ServicesTest {
 protected:
  static v1::StoredProfile ProfileOf(const std::string& fingerprint, const std::string& key,
                                     double latency_us = 1.25, int64_t samples = 1) {
    v1::StoredProfile profile;
    profile.set_device_fingerprint(fingerprint);
    profile.set_key(key);
    profile.mutable_profile()->set_latency_us_median(latency_us);
    profile.mutable_profile()->set_samples(samples);
    return profile;
  }

  absl::StatusOr<v1::ImportProfilesResponse> Import(
      const std::vector<v1::StoredProfile>& profiles) {
    v1::ImportProfilesRequest request;
    for (const v1::StoredProfile& profile : profiles) *request.add_profiles() = profile;
    return Call(&ProfileStub::ImportProfiles, request);
  }

  absl::StatusOr<v1::ListProfilesResponse> List(const std::string& fingerprint, int page_size = 0,
                                                const std::string& token = "") {
    v1::ListProfilesRequest request;
    request.set_device_fingerprint(fingerprint);
    request.set_page_size(page_size);
    request.set_page_token(token);
    return Call(&ProfileStub::ListProfiles, request);
  }

  static std::vector<std::string> KeysOf(const v1::ListProfilesResponse& response) {
    std::vector<std::string> keys;
    for (const v1::StoredProfile& profile : response.profiles()) keys.push_back(profile.key());
    return keys;
  }
};

TEST_F(ProfileServiceTest, ListsWhatWasImported) {
  ASSERT_EQ(Import({ProfileOf("d1", "b"), ProfileOf("d2", "c"), ProfileOf("d1", "a")})->imported(),
            3);
  EXPECT_THAT(KeysOf(*List("d1")), ElementsAre("a", "b"));
  EXPECT_THAT(KeysOf(*List("")), ElementsAre("a", "b", "c"));
  EXPECT_THAT(KeysOf(*List("d3")), IsEmpty());
  EXPECT_EQ(List("d1")->profiles(0).profile().latency_us_median(), 1.25);
}

TEST_F(ProfileServiceTest, DropsWhatIsNamedAndThere) {
  ASSERT_TRUE(Import({ProfileOf("d1", "a"), ProfileOf("d1", "b"), ProfileOf("d2", "a")}).ok());
  v1::DropProfilesRequest request;
  for (const char* key : {"a", "c"}) {
    v1::ProfileName& name = *request.add_profiles();
    name.set_device_fingerprint("d1");
    name.set_key(key);
  }
  EXPECT_EQ(Call(&ProfileStub::DropProfiles, request)->dropped(), 1);
  EXPECT_EQ(Call(&ProfileStub::DropProfiles, request)->dropped(), 0);
  EXPECT_THAT(KeysOf(*List("")), ElementsAre("b", "a"));
  // All or none.
  request.mutable_profiles(0)->set_key("b");
  request.mutable_profiles(1)->clear_key();
  EXPECT_THAT(Call(&ProfileStub::DropProfiles, request).status(),
              HasReason(v1::ERROR_REASON_INVALID_REQUEST));
  EXPECT_THAT(KeysOf(*List("d1")), ElementsAre("b"));
}

TEST_F(ProfileServiceTest, OnlyMoreSamplesReplaceAProfile) {
  ASSERT_TRUE(Import({ProfileOf("d", "k", 5, 10)}).ok());
  ASSERT_TRUE(Import({ProfileOf("d", "k", 7, 9)}).ok());
  EXPECT_EQ(List("d")->profiles(0).profile().latency_us_median(), 5);
  ASSERT_TRUE(Import({ProfileOf("d", "k", 6, 11)}).ok());
  EXPECT_EQ(List("d")->profiles(0).profile().latency_us_median(), 6);
}

TEST_F(ProfileServiceTest, ListsByPages) {
  std::vector<v1::StoredProfile> profiles;
  for (int i = 0; i < 5; ++i) profiles.push_back(ProfileOf("d", absl::StrCat("key", i)));
  ASSERT_TRUE(Import(profiles).ok());
  std::vector<std::string> keys;
  std::string token;
  int pages = 0;
  do {
    const auto page = List("d", 2, token);
    ASSERT_TRUE(page.ok()) << page.status();
    for (const std::string& key : KeysOf(*page)) keys.push_back(key);
    token = page->next_page_token();
  } while (!token.empty() && ++pages < 10);
  EXPECT_THAT(keys, ElementsAre("key0", "key1", "key2", "key3", "key4"));
}

// Whatever their keys, a page fits into a message.
TEST_F(ProfileServiceTest, EndsAPageOfLongKeysEarly) {
  for (int i = 100; i < 180; ++i) {
    const std::string key = absl::StrCat("key", i);
    ASSERT_TRUE(Import({ProfileOf("d", key + std::string(60'000, 'k'))}).ok());
  }
  const auto first = List("d", 1000);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->profiles_size(), 34);
  const auto second = List("d", 1000, first->next_page_token());
  EXPECT_EQ(second->profiles_size(), 34);
  const auto third = List("d", 1000, second->next_page_token());
  EXPECT_EQ(third->profiles_size(), 12);
  EXPECT_EQ(third->next_page_token(), "");
}

TEST_F(ProfileServiceTest, APageTokenFitsItsListingOnly) {
  ASSERT_TRUE(Import({ProfileOf("d1", "a"), ProfileOf("d1", "b"), ProfileOf("d2", "c")}).ok());
  const std::string token = List("d1", 1)->next_page_token();
  EXPECT_TRUE(List("d1", 1, token).ok());
  for (const absl::Status& status : {List("d2", 1, token).status(), List("", 1, token).status(),
                                     List("d1", 1, "nonsense").status(), List("d1", -1).status()}) {
    EXPECT_THAT(status, HasReason(v1::ERROR_REASON_INVALID_REQUEST));
  }
}

TEST_F(ProfileServiceTest, StoresNothingWhenOneProfileIsInvalid) {
  for (const v1::StoredProfile& wrong :
       {ProfileOf("d", ""), ProfileOf("", "k"), ProfileOf("d", "k", -1), ProfileOf("d", "k", 1, 0),
        ProfileOf("d", "k", std::numeric_limits<double>::infinity())}) {
    EXPECT_THAT(Import({ProfileOf("d", "right"), wrong}).status(),
                HasReason(v1::ERROR_REASON_INVALID_REQUEST));
  }
  EXPECT_EQ(*stores_.profiles->Count(), 0);
}

TEST_F(ProfileServiceTest, NamesTheProfileThatIsInvalid) {
  const absl::Status status = Import({ProfileOf("d", "right"), ProfileOf("d", "")}).status();
  EXPECT_EQ(wire::FieldOf(status), "profiles[1].key");
}

TEST_F(ProfileServiceTest, RefusesATimeOfTheFuture) {
  v1::StoredProfile profile = ProfileOf("d", "k");
  profile.mutable_measure_time()->set_seconds(absl::ToUnixSeconds(clock_.Now()));
  EXPECT_TRUE(Import({profile}).ok());
  profile.mutable_measure_time()->set_seconds(absl::ToUnixSeconds(clock_.Now() + absl::Hours(25)));
  EXPECT_EQ(wire::FieldOf(Import({profile}).status()), "profiles[0].measure_time");
}

TEST_F(ProfileServiceTest, RefusesTooManyAtOnce) {
  const std::vector<v1::StoredProfile> profiles(kProfilesPerImportMax + 1, ProfileOf("d", "k"));
  EXPECT_THAT(Import(profiles).status(), HasReason(v1::ERROR_REASON_INVALID_REQUEST));
  EXPECT_EQ(*stores_.profiles->Count(), 0);
}

}  // namespace
}  // namespace plait
