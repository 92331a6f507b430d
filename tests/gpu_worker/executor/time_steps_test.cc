#include "gpu_worker/executor/time_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "optimizer/ops/evaluation/evaluate.h"
#include "tests/gpu_worker/executor/executor_fixture.h"

namespace plait {
namespace {

using testing::Each;
using testing::Gt;
using testing::HasSubstr;
using testing::SizeIs;

constexpr char kChain[] = R"(graph {
  input %x: float32[64,500]
  %a = Softmax(%x) {axis=1}
  %b = Relu(%a)
  output %b
})";

using TimeStepsTest = ExecutorFixture;

TEST_F(TimeStepsTest, TimesTheStepsOfEachPlanAndSaysWhatCannotRun) {
  const Graph chain = ParseTyped(kChain);
  const Graph one = ParseTyped(R"(graph {
  input %x: float32[64,500]
  %b = Relu(%x)
  output %b
})");
  const Plan plans[] = {PlanOf(chain), PlanOf(one)};
  const CandidatePlan candidates[] = {{&chain, &plans[0]}, {&chain, &plans[1]}, {&one, &plans[1]}};
  const auto timed = TimeSteps(*executor_, candidates, NoWeights(), {.rounds = 3});
  ASSERT_TRUE(timed.ok()) << timed.status();
  ASSERT_THAT(*timed, SizeIs(3));
  ASSERT_TRUE((*timed)[0].ok()) << (*timed)[0].status();
  EXPECT_THAT(*(*timed)[0], testing::AllOf(SizeIs(2), Each(Gt(0))));
  EXPECT_THAT(std::string((*timed)[1].status().message()), HasSubstr("plan"));
  ASSERT_TRUE((*timed)[2].ok()) << (*timed)[2].status();
  EXPECT_THAT(*(*timed)[2], testing::AllOf(SizeIs(1), Each(Gt(0))));
}

TEST_F(TimeStepsTest, EndsWhenItIsAskedTo) {
  const Graph chain = ParseTyped(kChain);
  const Plan plan = PlanOf(chain);
  const CandidatePlan candidates[] = {{&chain, &plan}};
  std::stop_source source;
  source.request_stop();
  const auto timed = TimeSteps(*executor_, candidates, NoWeights(), {.stop = source.get_token()});
  EXPECT_TRUE(absl::IsCancelled(timed.status())) << timed.status();
}

}  // namespace
}  // namespace plait
