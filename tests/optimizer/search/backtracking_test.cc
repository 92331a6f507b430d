#include "optimizer/search/backtracking.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_format.h"
#include "tests/optimizer/search/examples.h"
#include "tests/optimizer/search/job.h"

namespace plait {
namespace {

using testing::HasSubstr;

// One variant per line: its price and the steps that lead to it.
std::string VariantsText(const Backtracking& search, RuleList rules) {
  std::string text;
  for (const RegionVariant& variant : search.BestVariants()) {
    absl::StrAppendFormat(&text, "%.6g us:", variant.latency_us);
    for (const RewriteStep& step : variant.steps) {
      absl::StrAppendFormat(&text, " %s@%d", rules[step.rule]->name, step.node);
    }
    text += "\n";
  }
  return text;
}

// Searches to the end, with profiles brought as they are missed.
absl::Status Finish(Backtracking& search, FakeSearch& fake) {
  while (!search.finished()) {
    std::vector<ProfileQuery> missing;
    const absl::Status status = search.Advance(1000, &missing);
    if (!status.ok()) return status;
    EXPECT_EQ(missing.empty(), search.finished());
    const absl::Status resolved = fake.profiles.Resolve(missing);
    if (!resolved.ok()) return resolved;
  }
  return absl::OkStatus();
}

TEST(BacktrackingTest, FollowsTheOptionsOfTheTable) {
  struct Case {
    const char* name;
    BacktrackingOptions options;
    const char* variants;
    int64_t candidates;
  };
  // The worked example of backtracking.cc.
  const char* const all = "2 us: tanh_to_pair@0 pair_to_neg@1\n10 us:\n10.32 us: tanh_to_pair@0\n";
  const std::vector<Case> cases = {
      {"as it is", {}, all, 3},
      {"nothing dearer", {.relaxation = 1}, "10 us:\n", 2},
      {"nothing expanded", {.expanded_max = 0}, "10 us:\n", 1},
      {"one expanded", {.expanded_max = 1}, "10 us:\n10.32 us: tanh_to_pair@0\n", 2},
      {"one variant", {.variants_max = 1}, "2 us: tanh_to_pair@0 pair_to_neg@1\n", 3},
      {"a short queue", {.queue_max = 1}, all, 3},
  };
  for (const Case& test : cases) {
    FakeSearch fake(1);
    BacktrackingOptions options = test.options;
    options.rules = kRules;
    options.checks_prices = true;
    Backtracking search(TanhGraph(), options, fake.device);
    ASSERT_EQ(Finish(search, fake), absl::OkStatus()) << test.name;
    EXPECT_EQ(VariantsText(search, kRules), test.variants) << test.name;
    EXPECT_EQ(search.candidates(), test.candidates) << test.name;
  }
}

TEST(BacktrackingTest, StopsWhereProfilesAreMissing) {
  FakeSearch fake(1);
  const BacktrackingOptions options{.rules = kRules};
  Backtracking search(TanhGraph(), options, fake.device);
  EXPECT_EQ(VariantsText(search, kRules), "inf us:\n");
  for (int attempt = 0; attempt < 2; ++attempt) {
    std::vector<ProfileQuery> missing;
    ASSERT_EQ(search.Advance(1000, &missing), absl::OkStatus());
    EXPECT_EQ(missing.size(), 1u);
    EXPECT_FALSE(search.finished());
    EXPECT_EQ(search.candidates(), 0);
  }
  ASSERT_EQ(Finish(search, fake), absl::OkStatus());
  EXPECT_EQ(search.candidates(), 3);
}

TEST(BacktrackingTest, ItsStepsLeadToItsVariants) {
  FakeSearch fake(1);
  const BacktrackingOptions options{.rules = kRules};
  Backtracking search(TanhGraph(), options, fake.device);
  ASSERT_EQ(Finish(search, fake), absl::OkStatus());
  for (const RegionVariant& variant : search.BestVariants()) {
    RuleCounts counts;
    const absl::StatusOr<Graph> repeated = RepeatSteps(TanhGraph(), kRules, variant.steps, &counts);
    ASSERT_TRUE(repeated.ok()) << repeated.status();
    EXPECT_EQ(repeated->fingerprint(), variant.graph.fingerprint());
    EXPECT_EQ(counts, variant.counts);
  }
}

TEST(BacktrackingTest, VisitsAGraphOnce) {
  // Two rules that undo each other: without a memory they would go round for ever.
  const Rule to_exp = {.name = "to_exp",
                       .law = "Tanh(x) = Exp(x)",
                       .root = OpKind::kTanh,
                       .match = [](const Rule&, const Graph& graph, NodeId node) -> Rewrites {
                         return {ReplaceOp(graph, node, {OpKind::kExp})};
                       }};
  const Rule to_tanh = {.name = "to_tanh",
                        .law = "Exp(x) = Tanh(x)",
                        .root = OpKind::kExp,
                        .match = [](const Rule&, const Graph& graph, NodeId node) -> Rewrites {
                          return {ReplaceOp(graph, node, {OpKind::kTanh})};
                        }};
  const Rule* const rules[] = {&to_exp, &to_tanh};
  FakeSearch fake(1);
  const BacktrackingOptions options{.rules = rules};
  Backtracking search(TanhGraph(), options, fake.device);
  ASSERT_EQ(Finish(search, fake), absl::OkStatus());
  EXPECT_EQ(VariantsText(search, rules), "10 us:\n10 us: to_exp@0\n");
  EXPECT_EQ(search.candidates(), 2);
}

TEST(BacktrackingTest, PricesWhatIndependentRewritesMakeOnce) {
  // Exp is not in normal form, so each rewrite is followed by another one, and the orders meet only
  // behind that.
  const Rule to_exp = {.name = "to_exp",
                       .law = "Tanh(x) = Exp(x)",
                       .root = OpKind::kTanh,
                       .match = [](const Rule&, const Graph& graph, NodeId node) -> Rewrites {
                         return {ReplaceOp(graph, node, {OpKind::kExp})};
                       }};
  const Rule exp_to_neg = {.name = "exp_to_neg",
                           .law = "Exp(x) = Neg(x)",
                           .root = OpKind::kExp,
                           .match = [](const Rule&, const Graph& graph, NodeId node) -> Rewrites {
                             return {ReplaceOp(graph, node, {OpKind::kNeg})};
                           },
                           .always_wins = true};
  const Rule* const rules[] = {&to_exp, &exp_to_neg};
  const Graph graph = GraphOf(R"(graph {
    input %x: float32[2,8]
    input %y: float32[2,8]
    %a = Tanh(%x) {}
    %b = Tanh(%y) {}
    output %a, %b
  })");
  FakeSearch fake(1);
  const BacktrackingOptions options{.rules = rules, .relaxation = 10};
  Backtracking search(graph, options, fake.device);
  ASSERT_EQ(Finish(search, fake), absl::OkStatus());
  EXPECT_EQ(search.candidates(), 4);  // none, either, both
  const RegionVariant best = search.BestVariants().front();
  EXPECT_EQ(best.latency_us, 4);
  EXPECT_EQ(best.counts, (RuleCounts{{"exp_to_neg", 2}, {"to_exp", 2}}));
}

TEST(BacktrackingTest, NamesARuleThatIsWrong) {
  const Rule wrong = {.name = "forgets_its_output",
                      .law = "Tanh(x) =",
                      .root = OpKind::kTanh,
                      .match = [](const Rule&, const Graph&, NodeId node) -> Rewrites {
                        Rewrite rewrite;
                        rewrite.removed = {node};
                        return {rewrite};
                      }};
  const Rule* const rules[] = {&wrong};
  FakeSearch fake(1);
  const BacktrackingOptions options{.rules = rules};
  Backtracking search(TanhGraph(), options, fake.device);
  const absl::Status status = Finish(search, fake);
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), HasSubstr("rule forgets_its_output"));
}

}  // namespace
}  // namespace plait
