#include "server/search_child/job_budget.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "optimizer/ir/text.h"

namespace plait {
namespace {

// Of 2 * rows * 1000 * 1000 operations.
Graph Product(int rows) {
  return *ParseGraph(absl::StrCat("graph {\n  input %x: float32[", rows, R"(,1000]
  const %w: float32[1000,1000] = synthetic 1
  %y: float32[)",
                                  rows, R"(,1000] = MatMul(%x, %w) {}
  output %y
})"));
}

internal::Start Asks(double seconds, double seconds_max) {
  internal::Start start;
  start.mutable_options()->set_budget_seconds(seconds);
  start.set_budget_seconds_max(seconds_max);
  return start;
}

TEST(JobBudgetTest, GrowsWithTheWorkOfTheModel) {
  EXPECT_EQ(JobBudgetSeconds(Asks(60, 600), Product(7'000)), 60);    // 14 GFLOP
  EXPECT_EQ(JobBudgetSeconds(Asks(60, 600), Product(40'000)), 320);  // 80 GFLOP
  EXPECT_EQ(JobBudgetSeconds(Asks(60, 600), Product(1'000'000)), 600);
}

TEST(JobBudgetTest, IsWhatSomebodyNamed) {
  EXPECT_EQ(JobBudgetSeconds(Asks(20, 20), Product(100'000)), 20);
  EXPECT_EQ(JobBudgetSeconds(Asks(400, 400), Product(100'000)), 400);
  // A daemon that says nothing of it.
  EXPECT_EQ(JobBudgetSeconds(Asks(60, 0), Product(1'000'000)), 60);
}

}  // namespace
}  // namespace plait
