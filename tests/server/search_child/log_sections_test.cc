#include "server/search_child/log_sections.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plait {
namespace {

using testing::ElementsAre;

TEST(LogSectionsTest, OnePlanIsItsLog) {
  EXPECT_EQ(JoinLogs({"a log\nof lines\n"}), "a log\nof lines\n");
  EXPECT_THAT(SplitLogs("a log\nof lines\n"), ElementsAre("a log\nof lines\n"));
  EXPECT_THAT(SplitLogs(""), ElementsAre(""));
}

TEST(LogSectionsTest, SeveralComeBackInOrder) {
  const std::vector<std::string> logs = {"first\n", "", "third\nof two\n"};
  EXPECT_THAT(SplitLogs(JoinLogs(logs)), ElementsAre("first\n", "", "third\nof two\n"));
}

TEST(LogSectionsTest, OnlyWholeLinesPartLogs) {
  EXPECT_THAT(SplitLogs("a next_plan\nnext_plan b\n"), ElementsAre("a next_plan\nnext_plan b\n"));
  EXPECT_THAT(SplitLogs("next_plan"), ElementsAre("next_plan"));
  EXPECT_THAT(SplitLogs("next_plan\nx"), ElementsAre("", "x"));
}

}  // namespace
}  // namespace plait
