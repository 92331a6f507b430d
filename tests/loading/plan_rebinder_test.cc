#include "loading/plan_rebinder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "tests/fuzz/mutate_text.h"
#include "tests/loading/planned_model.h"

namespace plait {
namespace {

using testing::HasSubstr;

class PlanRebinderTest : public testing::Test {
 protected:
  const DeviceDescription& device() const { return executor_->device(); }

  PlanChoice Choose(const std::vector<EmbeddedPlan>& plans, int64_t rows) {
    const Model model = ModelWith(plans);
    const std::vector<FilePlan> read = ReadFilePlans(model);
    return PlanRebinder(model, read, *executor_).Choose({{"x", {rows, 8}}});
  }

  const std::unique_ptr<Executor> executor_ = OpenCpu(1);
};

TEST_F(PlanRebinderTest, TakesThePlanOfTheShapesWhereThereIsOne) {
  const PlanChoice choice = Choose({PlanOfRows(2, device()), PlanOfRows(4, device())}, 4);
  ASSERT_TRUE(choice.loaded.has_value()) << choice.explanation;
  EXPECT_EQ(choice.reason, PlanReason::kFits);
  EXPECT_EQ(RunOnOnes(*choice.loaded).size(), 32u);
}

TEST_F(PlanRebinderTest, BindsThePlanOfTheNearestShapes) {
  const std::vector<EmbeddedPlan> plans = {PlanOfRows(2, device()), PlanOfRows(4, device())};
  const std::vector<std::pair<int64_t, const char*>> cases = {
      {1, "for x of [2,8]"}, {3, "for x of [4,8]"}, {5, "for x of [4,8]"}, {100, "for x of [4,8]"}};
  for (const auto& [rows, source] : cases) {
    const PlanChoice choice = Choose(plans, rows);
    ASSERT_TRUE(choice.loaded.has_value()) << choice.explanation;
    EXPECT_EQ(choice.reason, PlanReason::kOtherShapes);
    EXPECT_EQ(choice.grade, PlanGrade::kExact);
    EXPECT_THAT(choice.explanation, HasSubstr(source));
    const std::vector<float> values = RunOnOnes(*choice.loaded);
    ASSERT_EQ(values.size(), static_cast<size_t>(8 * rows));
    for (size_t i = 0; i < values.size(); ++i) {
      EXPECT_EQ(values[i], 224.0f + 8 * static_cast<float>(i % 8));
    }
  }
}

// What was measured is what runs: a plan that prediction would not have made stays as it is.
TEST_F(PlanRebinderTest, KeepsTheKernelsOfThePlan) {
  Plan of_file;
  const EmbeddedPlan embedded = PlanOfRows(2, device(), [&](Plan* plan) { of_file = *plan; });
  const PlanChoice choice = Choose({embedded}, 7);
  ASSERT_TRUE(choice.loaded.has_value()) << choice.explanation;
  ASSERT_EQ(choice.loaded->plan.steps.size(), of_file.steps.size());
  for (size_t i = 0; i < of_file.steps.size(); ++i) {
    EXPECT_EQ(choice.loaded->plan.steps[i].kernel, of_file.steps[i].kernel);
  }
  EXPECT_FALSE(choice.loaded->plan.predicted);
}

TEST_F(PlanRebinderTest, ExchangesAKernelThatDoesNotTakeTheShapes) {
  const EmbeddedPlan embedded =
      PlanOfRows(2, device(), [](Plan* plan) { plan->steps[0].kernel.family = "of_two_rows"; });
  const PlanChoice choice = Choose({embedded}, 3);
  ASSERT_TRUE(choice.loaded.has_value()) << choice.explanation;
  EXPECT_THAT(choice.explanation, HasSubstr("1 of its kernels do not take them"));
  EXPECT_EQ(RunOnOnes(*choice.loaded)[7], 280.0f);
}

TEST_F(PlanRebinderTest, SaysWhyNothingIsBound) {
  EXPECT_EQ(Choose({}, 3).reason, PlanReason::kNone);
  EmbeddedPlan other = PlanOfRows(2, device());
  other.rewrites = "piece nodes=[0]\n";
  const PlanChoice of_other_graph = Choose({other}, 3);
  EXPECT_FALSE(of_other_graph.loaded.has_value());
  EXPECT_EQ(of_other_graph.reason, PlanReason::kOtherModel);
  EXPECT_THAT(of_other_graph.explanation, HasSubstr("its rewrites are for another graph"));
  other.rewrites = "piece nodes=[0,1]\nstep node=0 choice=0 rule=\"merge_mat_muls\"\n";
  EXPECT_THAT(Choose({other}, 3).explanation, HasSubstr("does not match at node 0"));

  const EmbeddedPlan of_two_threads = PlanOfRows(2, OpenCpu(2)->device());
  EXPECT_EQ(Choose({of_two_threads}, 3).reason, PlanReason::kOtherDevice);
}

// Rewrites that change nothing lead to the normal form, which is the graph of the plan here.
TEST_F(PlanRebinderTest, FollowsRewrites) {
  EmbeddedPlan plan = PlanOfRows(2, device());
  plan.rewrites = "piece nodes=[0,1]\n";
  const PlanChoice choice = Choose({plan}, 3);
  ASSERT_TRUE(choice.loaded.has_value()) << choice.explanation;
  EXPECT_EQ(choice.reason, PlanReason::kOtherShapes);
  EXPECT_EQ(RunOnOnes(*choice.loaded).size(), 24u);
}

// Texts are a stranger's: what is bound computes what the model does, or nothing is.
TEST_F(PlanRebinderTest, MutatedTextsBindNothingThatIsWrong) {
  EmbeddedPlan right = PlanOfRows(2, device());
  right.rewrites = "piece nodes=[0]\npiece nodes=[1]\n";
  int bound = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    EmbeddedPlan plan = right;
    std::string* const texts[] = {&plan.plan, &plan.graph, &plan.rewrites};
    std::string& text = *texts[random.Integer(0, 2)];
    for (int64_t i = random.Integer(1, 3); i > 0; --i) text = MutateText(text, &random);
    const PlanChoice choice = Choose({plan}, 3);
    EXPECT_FALSE(choice.explanation.empty()) << seed;
    if (!choice.loaded.has_value()) continue;
    ++bound;
    EXPECT_EQ(RunOnOnes(*choice.loaded)[7], 280.0f) << seed;
  }
  EXPECT_GT(bound, 10);
  EXPECT_LT(bound, 290);
}

}  // namespace
}  // namespace plait
