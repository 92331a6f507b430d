#include "server/search_child/budget_warnings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plait {
namespace {

using testing::HasSubstr;

TEST(BudgetWarningsTest, NameABudgetThatWouldHaveBeenEnough) {
  EXPECT_THAT(BudgetWarning(10, 9.5, 5), HasSubstr("(--budget 18s is enough)"));
}

// The search stops early where what remains would be too little, with most of the budget unspent.
TEST(BudgetWarningsTest, NameMoreThanWasGiven) {
  EXPECT_THAT(BudgetWarning(10, 6, 2), HasSubstr("(--budget 11s is enough)"));
}

}  // namespace
}  // namespace plait
