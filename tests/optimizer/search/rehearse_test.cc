#include "optimizer/search/rehearse.h"

#include <algorithm>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "optimizer/cost/replaying_profiler.h"
#include "tests/optimizer/search/job.h"

namespace plait {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

// With something to fuse: a plan that is no other than the baseline is not rehearsed.
Graph TwoProducts() {
  return GraphOf(R"(graph {
    input %x: float32[2,8]
    const %w1: float32[8,8] = synthetic 1
    const %w2: float32[8,8] = synthetic 2
    %p1 = MatMul(%x, %w1) {}
    %a = Tanh(%p1) {}
    %p2 = MatMul(%a, %w2) {}
    output %p2
  })");
}

// Convolutions are faster in channels-last, for which two reorders are made. 256 KiB a value.
Graph Images() {
  return GraphOf(R"(graph {
    input %x: float32[1,16,64,64]
    const %w: float32[16,16,1,1] = synthetic 1
    %c1 = Conv(%x, %w) {kernel_shape=[1,1]}
    %c2 = Conv(%c1, %w) {kernel_shape=[1,1]}
    %c3 = Conv(%c2, %w) {kernel_shape=[1,1]}
    %c4 = Conv(%c3, %w) {kernel_shape=[1,1]}
    %y = Tanh(%c4) {}
    output %y
  })");
}

int Reorders(const Plan& plan) {
  return static_cast<int>(std::count_if(plan.steps.begin(), plan.steps.end(), [](const Step& step) {
    return step.kernel.nodes.empty();
  }));
}

std::vector<std::string> InTwins(const SearchResult& result) {
  return ProductsOf(result.graph, result.plan,
                    [](const Kernel& kernel) { return kernel.family == "twin"; });
}

// In its place a kernel takes 100 us unless the test says otherwise, and a twin of it as many as
// the test says.
class RehearsingVerifier : public FakeVerifier {
 public:
  absl::StatusOr<std::vector<std::vector<double>>> TimeSteps(
      absl::Span<const PlanCandidate> candidates, const RehearsalBatch&) override {
    ++rehearsals;
    if (!status.ok()) return status;
    std::vector<std::vector<double>> times;
    for (const PlanCandidate& candidate : candidates) {
      std::vector<double>& step_us = times.emplace_back();
      EXPECT_EQ(CheckPlan(candidate.plan, candidate.graph), absl::OkStatus());
      for (const Step& step : candidate.plan.steps) {
        const Graph& graph = candidate.graph;
        step_us.push_back(any_us);
        if (step.kernel.family != "twin" && step.kernel.family != "digits") continue;
        const TensorId product = graph.node(step.kernel.nodes.front()).outputs[0];
        const auto known = other_us.find(step.kernel.family + " " + *graph.tensor(product).name);
        if (known != other_us.end()) step_us.back() = known->second;
      }
    }
    if (!runs_first) times.front().clear();
    if (says_too_little) times.back().pop_back();
    return times;
  }

  std::map<std::string, double> other_us;  // by family and product
  double any_us = 100;
  bool runs_first = true;
  bool says_too_little = false;
  absl::Status status;
  int rehearsals = 0;
};

class RehearseTest : public testing::Test {
 protected:
  RehearseTest() {
    job_.catalog.offers_twins = true;
    job_.profiler.family_factor = {{"twin", 1.1}};
  }

  absl::StatusOr<SearchResult> Search(Budget& budget) {
    job_.progress.last_fraction = 0;
    return job_.Run(graph_, job_.profiler, verifier_, budget);
  }

  SearchResult Run() {
    UnlimitedBudget forever;
    absl::StatusOr<SearchResult> result = Search(forever);
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? *std::move(result) : SearchResult();
  }

  Graph graph_ = TwoProducts();
  Job job_;
  RehearsingVerifier verifier_;
};

class PlanInPlaceTest : public RehearseTest {
 protected:
  PlanInPlaceTest() {
    graph_ = Images();
    job_.catalog = FakeCatalog(2, /*channels_last=*/true);
    job_.catalog.offers_twins = true;
    job_.profiler.node_us["Conv"] = 40;
    job_.profiler.channels_last_factor = 0.5;
  }
};

TEST_F(RehearseTest, ExchangesWhatIsFasterInItsPlace) {
  verifier_.other_us = {{"twin p1", 99}, {"twin p2", 80}};
  const SearchResult result = Run();
  EXPECT_THAT(InTwins(result), ElementsAre("p2")) << result.trace;
  EXPECT_THAT(result.trace, HasSubstr("rehearsal: 2 plans, 20 us saved\n"));
  EXPECT_THAT(result.trace, HasSubstr("fake  100 us -> twin  80 us\n"));
  EXPECT_EQ(CheckPlan(result.plan, result.graph), absl::OkStatus());
  EXPECT_THAT(job_.log.rehearsals(), SizeIs(1));
}

TEST_F(RehearseTest, KeepsThePlanWhereNothingIsFaster) {
  EXPECT_THAT(InTwins(Run()), IsEmpty());
  EXPECT_EQ(verifier_.rehearsals, 1);
}

TEST_F(RehearseTest, TriesNothingThatIsMuchSlowerAlone) {
  job_.profiler.family_factor = {{"twin", 1.5}};
  verifier_.other_us = {{"twin p1", 1}, {"twin p2", 1}};
  EXPECT_THAT(InTwins(Run()), IsEmpty());
  EXPECT_EQ(verifier_.rehearsals, 0);
}

// Digits were not asked about, because no plan had them.
TEST_F(RehearseTest, TriesNoKernelThatWasNotAdmitted) {
  job_.catalog.offers_digits = true;
  job_.profiler.family_factor = {{"twin", 1.1}, {"digits", 1.05}};
  verifier_.other_us = {{"digits p1", 1}, {"digits p2", 1}, {"twin p1", 50}};
  const SearchResult result = Run();
  EXPECT_THAT(InTwins(result), ElementsAre("p1")) << result.trace;
  EXPECT_THAT(result.trace, Not(HasSubstr("-> digits")));
}

TEST_F(RehearseTest, ExchangesNothingForWhatCouldNotBeTimed) {
  verifier_.other_us = {{"twin p1", 10}, {"twin p2", 10}};
  verifier_.runs_first = false;
  EXPECT_THAT(InTwins(Run()), IsEmpty());
}

TEST_F(RehearseTest, DoesWithoutWhereItTakesTooLong) {
  verifier_.other_us = {{"twin p1", 10}, {"twin p2", 10}};
  verifier_.status = absl::DeadlineExceededError("too long");
  EXPECT_THAT(InTwins(Run()), IsEmpty());
}

TEST_F(RehearseTest, DoesWithoutWhereThereIsNoTime) {
  OneNoBudget all;
  ASSERT_TRUE(Search(all).ok());
  const int rehearsals = verifier_.rehearsals;
  int skipped = 0;
  for (int refused = 0; refused < all.asked; ++refused) {
    OneNoBudget budget(refused);
    ASSERT_TRUE(Search(budget).ok());
    if (verifier_.rehearsals == rehearsals + refused - skipped) ++skipped;
  }
  EXPECT_EQ(skipped, 1);
}

TEST_F(PlanInPlaceTest, BelievesProfilesThatHoldInThePlan) {
  verifier_.any_us = 1;
  const SearchResult result = Run();
  EXPECT_EQ(Reorders(result.plan), 2) << result.trace << PrintPlan(result.plan);
  EXPECT_THAT(result.trace, Not(HasSubstr("in place")));
  EXPECT_EQ(verifier_.rehearsals, 1);
}

TEST_F(PlanInPlaceTest, MovesLessWhereMovingTakesLongerThanProfilesSay) {
  const SearchResult result = Run();
  EXPECT_EQ(Reorders(result.plan), 0) << result.trace << PrintPlan(result.plan);
  EXPECT_THAT(result.trace, HasSubstr("in place: "));
  EXPECT_EQ(result.schedule, "sequential");
  // The new plan is rehearsed, too.
  EXPECT_EQ(verifier_.rehearsals, 2);
}

TEST_F(PlanInPlaceTest, SaysNothingOfMovingFromSmallValues) {
  graph_ = TwoProducts();
  Run();
  EXPECT_EQ(verifier_.rehearsals, 1);
}

TEST_F(PlanInPlaceTest, ReplaysFromTheLog) {
  const SearchResult original = Run();
  const auto log = MeasurementLog::Parse(job_.log.ToText());
  ASSERT_TRUE(log.ok()) << log.status();
  Job again;
  again.catalog = job_.catalog;
  ReplayingProfiler profiler(*log);
  ReplayingVerifier verifier(*log);
  ReplayingBudget budget(*log);
  const auto replayed = again.Run(graph_, profiler, verifier, budget);
  ASSERT_TRUE(replayed.ok()) << replayed.status();
  ExpectSame(original, *replayed);
}

TEST_F(RehearseTest, RefusesAnAnswerAboutOtherSteps) {
  verifier_.says_too_little = true;
  UnlimitedBudget forever;
  EXPECT_TRUE(absl::IsInternal(Search(forever).status()));
}

TEST_F(RehearseTest, ReplaysFromTheLog) {
  verifier_.other_us = {{"twin p2", 80}};
  const SearchResult original = Run();
  const auto log = MeasurementLog::Parse(job_.log.ToText());
  ASSERT_TRUE(log.ok()) << log.status();
  Job again;
  again.catalog.offers_twins = true;
  ReplayingProfiler profiler(*log);
  ReplayingVerifier verifier(*log);
  ReplayingBudget budget(*log);
  const auto replayed = again.Run(TwoProducts(), profiler, verifier, budget);
  ASSERT_TRUE(replayed.ok()) << replayed.status();
  ExpectSame(original, *replayed);
  EXPECT_EQ(again.log.ToText(), job_.log.ToText());
}

TEST_F(RehearseTest, RefusesALogAboutOtherPlans) {
  Run();
  const PlanCandidate candidates[] = {{"another", {}, {}}};
  ReplayingVerifier verifier(job_.log);
  EXPECT_TRUE(absl::IsFailedPrecondition(verifier.TimeSteps(candidates, {}).status()));
}

}  // namespace
}  // namespace plait
