#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "optimizer/kernels/profile_key.h"

namespace plait {
namespace {

using testing::HasSubstr;

void SetAwkward(std::string& field) { field = "a\tb=c\n\"d\\\" \x01\xff\xc3\xa9"; }
void SetAwkward(int& field) { field = -2147483647; }
void SetAwkward(bool& field) { field = !field; }

ProfileKey AwkwardKey() {
  ProfileKey key;
  ProfileKey::VisitFields(key, [](absl::string_view, auto& field) { SetAwkward(field); });
  return key;
}

TEST(ProfileKeyTextTest, ParsesBackWhateverTheFieldsHold) {
  for (const ProfileKey& key : {ProfileKey(), AwkwardKey()}) {
    const absl::StatusOr<ProfileKey> read = ProfileKey::Parse(key.ToString());
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, key);
    EXPECT_EQ(read->ToString(), key.ToString());
  }
}

TEST(ProfileKeyTextTest, RefusesTextThatToStringDoesNotWrite) {
  const std::string text = AwkwardKey().ToString();
  for (const std::string& broken :
       {std::string(), text + "\t", text + "\tmore=1", text.substr(0, text.rfind('\t')),
        text.substr(1), "x=1\t" + text, text + "\\"}) {
    const absl::StatusOr<ProfileKey> read = ProfileKey::Parse(broken);
    EXPECT_TRUE(absl::IsInvalidArgument(read.status())) << broken;
    EXPECT_THAT(std::string(read.status().message()), HasSubstr("profile key"));
  }
}

TEST(ProfileKeyTextTest, NamesTheFieldThatIsWrong) {
  std::string text = ProfileKey().ToString();
  const size_t place = text.find("\twidth=") + 7;
  text.replace(place, 1, "wide");
  EXPECT_THAT(std::string(ProfileKey::Parse(text).status().message()), HasSubstr("field width"));
}

}  // namespace
}  // namespace plait
