#include "optimizer/search/plan_graph.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "tests/optimizer/search/examples.h"

namespace plait {
namespace {

using testing::HasSubstr;

// Two branches of one node, the second of which can be fused with what comes behind it.
Graph Fork() {
  return GraphOf(R"(graph {
    input %x: float32[2,8]
    %a = Tanh(%x) {}
    %b = Exp(%x) {}
    %c = Sqrt(%b) {}
    %y = Add(%a, %c) {}
    output %y
  })");
}

class NoBudget : public Budget {
 public:
  bool Allows(int64_t) override { return false; }
};

// The plan's origin and prediction, then one line per step.
std::string PlannedText(const PlannedGraph& planned) {
  std::string text = absl::StrFormat("%s, %.6g us\n", planned.origin, planned.predicted_us);
  for (const Step& step : planned.plan.steps) {
    absl::StrAppendFormat(&text, "  nodes %s on stream %d, width %d\n",
                          absl::StrJoin(step.kernel.nodes, " "), step.stream, step.kernel.width);
  }
  return text;
}

const PlanBinding kBinding{"fake device", "test", 2};

// Every node takes 10 us on one thread and 10 / 1.8 us on two.
TEST(PlanGraphTest, TheBaselineRunsOneKernelPerNodeInLine) {
  FakeSearch fake(2);
  ReplayingBudget forever(fake.log);
  BudgetedProfiles profiles(fake.profiles, forever, fake.log);
  const auto baseline = PlanBaseline(Fork(), fake.device, kBinding, profiles);
  ASSERT_TRUE(baseline.ok()) << baseline.status();
  EXPECT_EQ(PlannedText(*baseline),
            "baseline, 22.2222 us\n"
            "  nodes 0 on stream 0, width 2\n"
            "  nodes 1 on stream 0, width 2\n"
            "  nodes 2 on stream 0, width 2\n"
            "  nodes 3 on stream 0, width 2\n");
  EXPECT_TRUE(CheckPlan(baseline->plan, Fork()).ok());
}

// %b and %c fused take 12 us on one thread and 12 / 1.8 us on two: side by side with %a that is
// 12 + 10 / 1.8 us, in line (10 + 12 + 10) / 1.8 us. A fused cover in line is never left out.
TEST(PlanGraphTest, FusedPlansComeShortestFirst) {
  FakeSearch fake(2);
  ReplayingBudget forever(fake.log);
  BudgetedProfiles profiles(fake.profiles, forever, fake.log);
  const auto plans = PlanFused(Fork(), fake.device, kBinding, kPlaitPolicy, profiles);
  ASSERT_TRUE(plans.ok()) << plans.status();
  std::string text;
  for (const PlannedGraph& planned : *plans) {
    text += PlannedText(planned);
    EXPECT_TRUE(CheckPlan(planned.plan, Fork()).ok());
  }
  EXPECT_EQ(text,
            "fastest cover, plait, 17.5556 us\n"
            "  nodes 1 2 on stream 0, width 1\n"
            "  nodes 0 on stream 1, width 1\n"
            "  nodes 3 on stream 0, width 2\n"
            "narrow cover, plait, 17.5556 us\n"
            "  nodes 1 2 on stream 0, width 1\n"
            "  nodes 0 on stream 1, width 1\n"
            "  nodes 3 on stream 0, width 2\n"
            "fastest cover, sequential, 17.7778 us\n"
            "  nodes 0 on stream 0, width 2\n"
            "  nodes 1 2 on stream 0, width 2\n"
            "  nodes 3 on stream 0, width 2\n");
}

TEST(PlanGraphTest, WithoutABudgetEveryNodeHasItsKernelAndNothingIsFused) {
  FakeSearch fake(1);
  NoBudget budget;
  BudgetedProfiles profiles(fake.profiles, budget, fake.log);
  const auto plans =
      PlanFused(Fork(), fake.device, {"fake device", "test", 1}, kPlaitPolicy, profiles);
  ASSERT_TRUE(plans.ok()) << plans.status();
  ASSERT_EQ(plans->size(), 2u);  // one stream: no narrow cover
  for (const PlannedGraph& planned : *plans) EXPECT_EQ(planned.plan.steps.size(), 4u);
  EXPECT_TRUE(profiles.exhausted());
}

// Counts how often it is asked.
class CountingCatalog : public FakeCatalog {
 public:
  using FakeCatalog::FakeCatalog;
  std::vector<Kernel> KernelsAt(const Graph& graph, NodeId node, bool fuse) const override {
    ++questions;
    return FakeCatalog::KernelsAt(graph, node, fuse);
  }

  mutable int questions = 0;
};

TEST(PlanGraphTest, AsksForTheKernelsOfEachNodeOnce) {
  FakeSearch fake(2);
  const CountingCatalog catalog(2);
  const SearchDevice device{fake.description, catalog, fake.profiles, fake.device.schedule};
  ReplayingBudget forever(fake.log);
  BudgetedProfiles profiles(fake.profiles, forever, fake.log);
  ASSERT_TRUE(PlanFused(Fork(), device, kBinding, kPlaitPolicy, profiles).ok());
  EXPECT_EQ(catalog.questions, 4);
  ASSERT_TRUE(PlanBaseline(Fork(), device, kBinding, profiles).ok());
  EXPECT_EQ(catalog.questions, 8);
}

// Says of every kernel that it cannot run.
class NothingRuns : public Profiler {
 public:
  absl::StatusOr<std::vector<Profile>> Measure(absl::Span<const ProfileRequest> requests) override {
    return std::vector<Profile>(requests.size());
  }
};

TEST(PlanGraphTest, NamesANodeThatNoKernelCanRun) {
  FakeSearch fake(1);
  NothingRuns profiler;
  ProfileCache cache(profiler, fake.log);
  const SearchDevice device{fake.description, fake.catalog, cache, fake.device.schedule};
  ReplayingBudget forever(fake.log);
  BudgetedProfiles profiles(cache, forever, fake.log);
  const absl::Status status = PlanBaseline(Fork(), device, kBinding, profiles).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("node 0 (Tanh)"));
}

}  // namespace
}  // namespace plait
