#include "optimizer/ir/attributes.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plait {
namespace {

using testing::ElementsAre;

TEST(AttributesTest, AreSortedByNameAndReplaced) {
  Attributes attributes = {{"pads", std::vector<int64_t>{1, 1}}, {"axis", 1}};
  attributes.Set("axis", 2);
  ASSERT_EQ(attributes.entries().size(), 2u);
  EXPECT_EQ(attributes.entries()[0].first, "axis");
  EXPECT_EQ(attributes.Int("axis", 0), 2);
  EXPECT_THAT(attributes.Ints("pads"), ElementsAre(1, 1));
  attributes.Erase("axis");
  attributes.Erase("axis");
  EXPECT_FALSE(attributes.Has("axis"));
}

TEST(AttributesTest, GiveTheDefaultForAnotherType) {
  const Attributes attributes = {{"a", 1.5f}};
  EXPECT_EQ(attributes.Int("a", 7), 7);
  EXPECT_EQ(attributes.Float("a", 0), 1.5f);
  EXPECT_EQ(attributes.Float("b", 2), 2);
  EXPECT_EQ(attributes.String("a", "no"), "no");
  EXPECT_THAT(attributes.Ints("a", {3}), ElementsAre(3));
}

TEST(AttributesTest, FingerprintDependsOnContentAndNotOnHistory) {
  Attributes attributes = {{"a", 1}, {"b", 2}};
  attributes.Set("c", "x");
  attributes.Set("b", 3);
  attributes.Erase("c");
  EXPECT_EQ(attributes, (Attributes{{"b", 3}, {"a", 1}}));
  EXPECT_EQ(attributes.fingerprint(), (Attributes{{"b", 3}, {"a", 1}}).fingerprint());
}

TEST(AttributesTest, FingerprintCoversNamesTypesAndValues) {
  const std::vector<Attributes> all = {
      {},
      {{"a", 0}},
      {{"b", 0}},
      {{"a", 1}},
      {{"a", 0.0f}},
      {{"a", -0.0f}},
      {{"a", ""}},
      {{"a", std::vector<int64_t>{}}},
      {{"a", std::vector<int64_t>{0}}},
      {{"a", std::vector<float>{}}},
      {{"a", std::vector<std::string>{}}},
      {{"a", std::vector<std::string>{"x", "y"}}},
      {{"a", std::vector<std::string>{"xy", ""}}},
      {{"a", Tensor::ScalarInt64(0)}},
      {{"a", Tensor::Int64s({0})}},
      {{"a", OpaqueBytes{""}}},
      {{"a", 0}, {"b", 0}},
  };
  for (size_t i = 0; i < all.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      EXPECT_NE(all[i].fingerprint(), all[j].fingerprint()) << i << " " << j;
    }
  }
}

}  // namespace
}  // namespace plait
