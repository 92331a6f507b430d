#include "base/suggest.h"

#include <gtest/gtest.h>

namespace plait {
namespace {

constexpr absl::string_view kNames[] = {"data_dir", "listen", "workers", "worker_threads"};

TEST(SuggestTest, NamesTheNearest) {
  EXPECT_EQ(NearestName("data_dri", kNames), "data_dir");
  EXPECT_EQ(NearestName("worker", kNames), "workers");
  EXPECT_EQ(NearestName("listen", kNames), "listen");
  EXPECT_EQ(Suggestion("lisen", kNames), "did you mean listen?");
}

TEST(SuggestTest, KeepsSilentWhenNoneIsNear) {
  EXPECT_EQ(NearestName("log", kNames), "");
  EXPECT_EQ(NearestName("listen", {}), "");
  EXPECT_EQ(Suggestion("zzzzzzzz", kNames), "see --help");
}

TEST(SuggestTest, RefusesToCompareWordsWithoutEnd) {
  EXPECT_EQ(NearestName(std::string(1'000'000, 'l'), kNames), "");
}

TEST(SuggestTest, PrefersTheFirstOfSeveralThatAreEquallyNear) {
  constexpr absl::string_view kTwins[] = {"--ab", "--ac"};
  EXPECT_EQ(NearestName("--ad", kTwins), "--ab");
}

}  // namespace
}  // namespace plait
