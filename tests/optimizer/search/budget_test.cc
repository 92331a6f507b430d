#include "optimizer/search/budget.h"

#include <gtest/gtest.h>

namespace plait {
namespace {

TEST(ReplayingBudgetTest, EndsWhereTheLogSays) {
  MeasurementLog log;
  ReplayingBudget budget(log);
  EXPECT_TRUE(budget.Allows(0));
  EXPECT_TRUE(budget.Allows(1'000'000));
  log.set_exhausted_at_step(2);
  EXPECT_TRUE(budget.Allows(1));
  EXPECT_FALSE(budget.Allows(2));
  EXPECT_FALSE(budget.Allows(3));
}

}  // namespace
}  // namespace plait
