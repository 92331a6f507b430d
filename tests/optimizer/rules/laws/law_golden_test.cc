// What laws make of graphs: golden/<law>.txt, of the laws in golden_laws.txt.
#include <cstdlib>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "optimizer/ir/text.h"
#include "optimizer/ops/shared/op_spec.h"
#include "optimizer/rules/laws/write_law.h"
#include "tests/files/source_path.h"
#include "tests/optimizer/rules/equivalence.h"
#include "tests/optimizer/rules/golden_case.h"

namespace plait {
namespace {

constexpr absl::string_view kFolder = "tests/optimizer/rules/laws";

std::vector<Law> GoldenLaws() {
  std::ifstream file(SourcePath(absl::StrCat(kFolder, "/golden_laws.txt")));
  const auto laws = ParseLaws(std::string{std::istreambuf_iterator<char>(file), {}});
  EXPECT_TRUE(laws.ok()) << laws.status();
  return laws.ok() ? *laws : std::vector<Law>();
}

std::vector<Graph> ApplyFirstMatch(const LawPattern& pattern, const Graph& graph) {
  std::vector<Graph> results;
  for (NodeId node = 0; node < graph.node_count() && results.empty(); ++node) {
    if (graph.node(node).op != pattern.law.source.node(pattern.root).op) continue;
    for (const Rewrite& rewrite : MatchLaw(pattern, graph, node)) {
      auto after = Apply(graph, rewrite);
      EXPECT_TRUE(after.ok()) << after.status();
      if (after.ok()) results.push_back(*std::move(after));
    }
  }
  return results;
}

TEST(LawGoldenTest, LawsRewriteAsTheirFilesSayAndKeepTheFunction) {
  const bool update = std::getenv("PLAIT_UPDATE_GOLDEN") != nullptr;
  for (const Law& law : GoldenLaws()) {
    const auto pattern = PatternOf(law);
    ASSERT_TRUE(pattern.ok()) << pattern.status();
    auto cases = ReadGoldenFile(law.name, kFolder);
    ASSERT_TRUE(cases.ok()) << cases.status();
    size_t matching = 0;
    for (GoldenCase& golden : *cases) {
      SCOPED_TRACE(absl::StrCat(law.name, ": ", golden.name));
      const auto before = ParseTypedGraph(golden.before);
      ASSERT_TRUE(before.ok()) << before.status();
      const std::vector<Graph> after = ApplyFirstMatch(*pattern, *before);
      EXPECT_EQ(after.empty(), golden.after.empty());
      matching += golden.after.empty() ? 0 : 1;
      std::vector<std::string> texts;
      for (const Graph& graph : after) {
        texts.push_back(PrintGraph(graph));
        const auto equivalent = CheckEquivalent(*before, graph);
        EXPECT_TRUE(equivalent.ok()) << equivalent.status() << texts.back();
      }
      if (update) {
        golden.before = PrintGraph(*before);
        if (!golden.after.empty()) golden.after = texts;
        continue;
      }
      std::vector<std::string> expected;
      for (const std::string& text : golden.after) {
        const auto graph = ParseTypedGraph(text);
        ASSERT_TRUE(graph.ok()) << graph.status();
        expected.push_back(PrintGraph(*graph));
      }
      EXPECT_EQ(texts, expected);
    }
    EXPECT_GE(matching, 2u) << law.name;
    EXPECT_GT(cases->size(), matching) << law.name << ": a case that must not match is missing";
    if (update && !HasFailure()) WriteGoldenFile(law.name, *cases, kFolder);
  }
}

}  // namespace
}  // namespace plait
