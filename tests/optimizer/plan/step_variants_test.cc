#include "optimizer/plan/step_variants.h"

#include "gtest/gtest.h"

namespace plait {
namespace {

Plan PlanOfVariants(const std::vector<std::string>& variants) {
  Plan plan;
  for (const std::string& variant : variants) plan.steps.emplace_back().kernel.variant = variant;
  return plan;
}

TEST(StepVariantsTest, NamesThoseThatWereChosen) {
  const Plan plan = PlanOfVariants({"strict/auto", "", "as it is"});
  EXPECT_EQ(WithStepVariants(plan, {"strict/a", "strict/b", ""}),
            PlanOfVariants({"strict/a", "strict/b", "as it is"}));
  EXPECT_EQ(WithStepVariants(plan, {}), plan);
  EXPECT_EQ(WithStepVariants(plan, {"strict/a", "strict/b"}), plan) << "not of this plan";
}

}  // namespace
}  // namespace plait
