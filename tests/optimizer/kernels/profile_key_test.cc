#include "optimizer/kernels/profile_key.h"

#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plait {
namespace {

using testing::HasSubstr;

ProfileKey SampleKey(const std::string& family) {
  ProfileKey key;
  key.device_fingerprint = "cpu\tof many \"words\"";
  key.family = family;
  key.graph_text = "graph {\n  input %i0: float32[4]\n  output %i0\n}\n";
  key.formats = "plain,plain";
  return key;
}

void Change(std::string& field) { field += "x"; }
void Change(int& field) { ++field; }
void Change(bool& field) { field = !field; }

TEST(ProfileKeyTest, ChangingAnyFieldChangesTheText) {
  std::set<std::string> texts = {SampleKey("conv").ToString()};
  int field_count = 0;
  ProfileKey sample = SampleKey("conv");
  ProfileKey::VisitFields(sample, [&](absl::string_view, const auto&) { ++field_count; });
  EXPECT_EQ(field_count, 8);
  for (int changed = 0; changed < field_count; ++changed) {
    ProfileKey key = SampleKey("conv");
    int index = 0;
    ProfileKey::VisitFields(key, [&](absl::string_view, auto& field) {
      if (index++ == changed) Change(field);
    });
    EXPECT_TRUE(texts.insert(key.ToString()).second) << "field " << changed;
  }
}

TEST(ProfileKeyTest, IsOneLineWhateverTheFieldsHold) {
  EXPECT_EQ(SampleKey("a\nb").ToString().find('\n'), std::string::npos);
}

TEST(ProfileKeyTest, FieldBordersCannotBeForged) {
  ProfileKey first = SampleKey("a");
  ProfileKey second = SampleKey("a\tvariant=b");
  first.variant = "b";
  EXPECT_NE(first.ToString(), second.ToString());
}

void SetAwkward(std::string& field) { field = "a\tb=c\n\"d\\\" \x01\xff\xc3\xa9"; }
void SetAwkward(int& field) { field = -2147483647; }
void SetAwkward(bool& field) { field = !field; }

ProfileKey AwkwardKey() {
  ProfileKey key;
  ProfileKey::VisitFields(key, [](absl::string_view, auto& field) { SetAwkward(field); });
  return key;
}

TEST(ProfileKeyParseTest, ParsesBackWhateverTheFieldsHold) {
  for (const ProfileKey& key : {ProfileKey(), AwkwardKey()}) {
    const absl::StatusOr<ProfileKey> read = ProfileKey::Parse(key.ToString());
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, key);
    EXPECT_EQ(read->ToString(), key.ToString());
  }
}

TEST(ProfileKeyParseTest, RefusesTextThatToStringDoesNotWrite) {
  const std::string text = AwkwardKey().ToString();
  for (const std::string& broken :
       {std::string(), text + "\t", text + "\tmore=1", text.substr(0, text.rfind('\t')),
        text.substr(1), "x=1\t" + text, text + "\\"}) {
    const absl::StatusOr<ProfileKey> read = ProfileKey::Parse(broken);
    EXPECT_TRUE(absl::IsInvalidArgument(read.status())) << broken;
    EXPECT_THAT(std::string(read.status().message()), HasSubstr("profile key"));
  }
}

TEST(ProfileKeyParseTest, NamesTheFieldThatIsWrong) {
  std::string text = ProfileKey().ToString();
  const size_t place = text.find("\twidth=") + 7;
  text.replace(place, 1, "wide");
  EXPECT_THAT(std::string(ProfileKey::Parse(text).status().message()), HasSubstr("field width"));
}

}  // namespace
}  // namespace plait
