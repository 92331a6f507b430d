// Laws as rules: each law of the generator, and each mutant that is proved, makes right rewrites
// wherever it applies.
#include "optimizer/rules/laws/law_rules.h"

#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "bench/search/select_laws.h"
#include "optimizer/ir/text.h"
#include "optimizer/ops/shared/op_spec.h"
#include "optimizer/rules/generator/generalize_law.h"
#include "optimizer/rules/laws/write_law.h"
#include "tests/files/source_path.h"
#include "tests/optimizer/rules/equivalence.h"
#include "tests/optimizer/rules/generator/mutate.h"
#include "tests/optimizer/rules/golden_case.h"
#include "tests/optimizer/rules/laws/draw_instance.h"

namespace plait {
namespace {

std::vector<Law> GeneratedLaws() {
  const auto laws = ReadGeneratedLaws(SourcePath("optimizer/rules/generated"));
  EXPECT_TRUE(laws.ok()) << laws.status();
  return laws.ok() ? *laws : std::vector<Law>();
}

// Every law in both directions, as general as it is proved: some seconds.
const std::vector<Law>& AllDirectedLaws() {
  static const std::vector<Law> laws = DirectedLaws(GeneratedLaws());
  return laws;
}

// Applies the law wherever it is found in the graph; how often it was.
int CheckRewrites(const LawPattern& pattern, const Graph& graph) {
  int rewrites = 0;
  for (NodeId node = 0; node < graph.node_count(); ++node) {
    if (graph.node(node).op != pattern.law.source.node(pattern.root).op) continue;
    for (const Rewrite& rewrite : MatchLaw(pattern, graph, node)) {
      const auto after = Apply(graph, rewrite);
      EXPECT_TRUE(after.ok()) << after.status() << PrintGraph(graph);
      if (!after.ok()) continue;
      const auto equivalent = CheckEquivalent(graph, *after);
      EXPECT_TRUE(equivalent.ok()) << equivalent.status() << "\n"
                                   << PrintGraph(graph) << PrintGraph(*after);
      ++rewrites;
    }
  }
  return rewrites;
}

TEST(LawRulesTest, AreRightInGraphsThatAreDrawn) {
  Random random(7);
  int rewrites = 0;
  int never_drawn = 0;
  const std::vector<Law>& laws = AllDirectedLaws();
  EXPECT_GE(laws.size(), 500u);
  for (const Law& law : laws) {
    const auto pattern = PatternOf(law);
    ASSERT_TRUE(pattern.ok()) << pattern.status();
    int found = CheckRewrites(*pattern, law.source);
    EXPECT_GE(found, 1) << "is not found in its own source: " << PrintLaws({law});
    for (int draw = 0; draw < 12; ++draw) {
      const auto graph = DrawInstance(law, &random);
      if (graph) found += CheckRewrites(*pattern, *graph);
    }
    never_drawn += found < 2;
    rewrites += found;
    if (HasFailure()) return;
  }
  std::printf("%zu laws in one direction, %d rewrites, %d laws in their own source only\n",
              laws.size(), rewrites, never_drawn);
  EXPECT_LE(never_drawn, 20);
}

TEST(LawRulesTest, ThoseOfTheBuildAreProvedAgainWithAnotherSeed) {
  const absl::Span<const Rule* const> rules = GeneratedRules();
  ASSERT_FALSE(rules.empty());
  std::set<std::string> names;
  for (const Rule* rule : rules) {
    const Law& law = rule->pattern->law;
    EXPECT_TRUE(VerifyGeneral(law, 987654321).ok()) << rule->name;
    EXPECT_EQ(rule->name, absl::StrCat("generated/", LawId(law)));
    EXPECT_EQ(law.name, LawId(law)) << "its name in rules.txt";
    EXPECT_TRUE(names.insert(std::string(rule->name)).second) << rule->name;
    EXPECT_FALSE(rule->law.empty());
    EXPECT_FALSE(rule->always_wins);
  }
}

TEST(LawRulesTest, StandBehindThoseWrittenByHand) {
  ASSERT_EQ(EveryRule().size(), AllRules().size() + GeneratedRules().size());
  for (size_t i = 0; i < AllRules().size(); ++i) EXPECT_EQ(EveryRule()[i], AllRules()[i]);
  EXPECT_EQ(PortableRulesAndGenerated().size(), PortableRules().size() + GeneratedRules().size());
}

// What a search may ask meets the graphs that were written for other rules, at every node.
TEST(LawRulesTest, AreRightInGraphsOfOtherRules) {
  for (const Rule* author : AllRules()) {
    const auto cases = ReadGoldenFile(author->name);
    ASSERT_TRUE(cases.ok()) << cases.status();
    for (const GoldenCase& golden : *cases) {
      const auto graph = ParseTypedGraph(golden.before);
      ASSERT_TRUE(graph.ok()) << graph.status();
      for (const Rule* rule : GeneratedRules()) {
        SCOPED_TRACE(absl::StrCat(rule->name, " in ", author->name, ", ", golden.name));
        CheckRewrites(*rule->pattern, *graph);
      }
    }
  }
}

// A mutant comes no further than what proves laws, or it is one.
TEST(LawRulesTest, FiveHundredMutantsAreRefusedOrRight) {
  const std::vector<Law>& laws = AllDirectedLaws();
  ASSERT_FALSE(laws.empty());
  Random random(16);
  int mutants = 0;
  int refused = 0;
  int rewrites = 0;
  while (mutants < 500 && !HasFailure()) {
    const Law& law = laws[random.Integer(0, static_cast<int64_t>(laws.size()) - 1)];
    const auto mutant = Mutate(law, &random);
    if (!mutant || PrintGraph(mutant->law.target) == PrintGraph(law.target)) continue;
    ++mutants;
    SCOPED_TRACE(mutant->change);
    const auto pattern = PatternOf(mutant->law);
    if (!pattern.ok() || !VerifyGeneral(mutant->law, 5).ok()) {
      ++refused;
      continue;
    }
    for (int draw = 0; draw < 6; ++draw) {
      const auto graph = DrawInstance(law, &random);
      if (graph) rewrites += CheckRewrites(*pattern, *graph);
    }
  }
  std::printf("%d of %d mutants were refused, the others made %d right rewrites\n", refused,
              mutants, rewrites);
  EXPECT_GE(refused, 250);
  EXPECT_GT(rewrites, 0);
}

// Were they not refused, they would be caught: the drawn graphs tell.
TEST(LawRulesTest, WrongLawsMakeWrongRewrites) {
  const std::vector<Law>& laws = AllDirectedLaws();
  Random random(4);
  int wrong = 0;
  int caught = 0;
  while (wrong < 40) {
    const Law& law = laws[random.Integer(0, static_cast<int64_t>(laws.size()) - 1)];
    const auto mutant = Mutate(law, &random);
    if (!mutant) continue;
    const auto pattern = PatternOf(mutant->law);
    if (!pattern.ok() || VerifyGeneral(mutant->law, 5).ok()) continue;
    ++wrong;
    bool is_caught = false;
    for (NodeId node = 0; node < law.source.node_count() && !is_caught; ++node) {
      if (law.source.node(node).op != law.source.node(pattern->root).op) continue;
      for (const Rewrite& rewrite : MatchLaw(*pattern, law.source, node)) {
        const auto after = Apply(law.source, rewrite);
        is_caught = is_caught || (after.ok() && !CheckEquivalent(law.source, *after).ok());
      }
    }
    caught += is_caught;
  }
  EXPECT_GE(caught, 30) << "of " << wrong;
}

}  // namespace
}  // namespace plait
