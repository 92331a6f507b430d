#include "optimizer/kernels/profile_key.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace plait {
namespace {

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

}  // namespace
}  // namespace plait
