#include "tests/optimizer/plan/plan_faults.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plait {

void ExpectFaultsFound(const Graph& graph, const Plan& plan, const std::vector<PlanFault>& faults) {
  ASSERT_EQ(CheckPlan(plan, graph), absl::OkStatus());
  for (const PlanFault& fault : faults) {
    Plan wrong = plan;
    fault.plant(wrong);
    const absl::Status status = CheckPlan(wrong, graph);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << fault.name;
    EXPECT_THAT(std::string(status.message()), testing::HasSubstr(fault.message)) << fault.name;
  }
}

}  // namespace plait
