// Texts of laws that are wrong: an error, and never a crash or a rule.
#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "optimizer/ir/text.h"
#include "optimizer/rules/laws/law_rules.h"
#include "optimizer/rules/laws/write_law.h"
#include "tests/files/source_path.h"
#include "tests/fuzz/mutate_text.h"
#include "tests/optimizer/rules/laws/draw_instance.h"

namespace plait {
namespace {

using testing::HasSubstr;

std::string LawText(const std::string& inputs, const std::string& source, const std::string& target,
                    const std::string& head = "") {
  return absl::StrCat("law: a\nevidence: e\n", head, "source:\ngraph {\n", inputs, source,
                      "}\ntarget:\ngraph {\n", inputs, target, "}\n");
}

std::string ErrorOf(const std::string& text) {
  return std::string(LawRules::Parse(text).status().message());
}

constexpr char kInputs[] = "input %x: float32[2,4]\ninput %y: float32[2,4]\n";

TEST(LawTextTest, WhatIsNoRuleIsRefused) {
  const std::string sum = "%z = Add(%x, %y) {}\noutput %z\n";
  struct Case {
    std::string text;
    const char* message;
  };
  const Case cases[] = {
      {"nonsense", "text in front of the first law"},
      {"law: a\nsource:\ngraph {\n", "a side is missing"},
      {LawText(kInputs, sum, "output %x\n") + "windows: any\n", "law a: "},
      {LawText(kInputs, "%z = Sub(%x, %y) {}\noutput %z\n", sum), "it has Sub"},
      {LawText(kInputs, "%z = Relu(%x) {}\noutput %z\n", "output %x\n"), "nothing but functions"},
      {LawText(kInputs, "%z = Add(%x, %x) {}\noutput %z\n", sum),
       "does not read all that its target needs"},
      {LawText(kInputs, sum, "%u = Add(%y, %x) {}\n%z = Relu(%u) {}\noutput %z\n"),
       "its source has no Relu, its target has"},
      {LawText(kInputs, "%p = Add(%x, %x) {}\n%q = Add(%y, %y) {}\noutput %p, %q\n",
               "%p = Add(%x, %x) {}\n%q = Add(%y, %y) {}\noutput %p, %q\n"),
       "not connected"},
      {LawText("input %x: float32[4]\n", "%z = Add(%x, %x) {}\noutput %z\n",
               "%z = Mul(%x, %x) {}\noutput %z\n"),
       "neither matrices nor images"},
      {LawText("input %x: int64[2,4]\n", "%z = Add(%x, %x) {}\noutput %z\n",
               "%z = Mul(%x, %x) {}\noutput %z\n"),
       "not all float32"},
      {LawText("input %x: float32[2,4]\nconst %c: float32[2,4] = synthetic 1\n",
               "%z = Add(%x, %c) {}\noutput %z\n", "%z = Add(%c, %x) {}\noutput %z\n"),
       "constants as operands"},
      {LawText("input %x: float32[10,4]\nconst %s: int64[2] = [4,6]\n",
               "%z = Add(%x, %x) {}\noutput %z\n",
               "%u = Add(%x, %x) {}\n%a, %b = Split(%u, %s) {axis=0}\n"
               "%z = Concat(%a, %b) {axis=0}\noutput %z\n"),
       "does not say the size 6"},
      {LawText(kInputs, "%z = Add(%x, %y) {}\noutput %z, %z\n",
               "%z = Add(%y, %x) {}\noutput %z, %z\n"),
       "an output is there twice"},
  };
  for (const Case& test : cases) EXPECT_THAT(ErrorOf(test.text), HasSubstr(test.message));
}

TEST(LawTextTest, ALawWithManyPartsIsRefused) {
  std::string chain = "%t0 = Add(%x, %y) {}\n";
  for (int i = 1; i < 9; ++i) absl::StrAppend(&chain, "%t", i, " = Add(%t", i - 1, ", %y) {}\n");
  EXPECT_THAT(ErrorOf(LawText(kInputs, chain + "output %t8\n", chain + "output %t8\n")),
              HasSubstr("more than 8 parts"));
}

TEST(LawTextTest, ALawUnderTwoNamesIsRefused) {
  const std::string text =
      LawText(kInputs, "%z = Add(%x, %y) {}\noutput %z\n", "%z = Add(%y, %x) {}\noutput %z\n");
  EXPECT_THAT(ErrorOf(text + absl::StrReplaceAll(text, {{"law: a", "law: b"}})),
              HasSubstr("is there twice, under other names"));
}

TEST(LawTextTest, AnIdIsOfWhatALawSays) {
  const std::string text =
      LawText(kInputs, "%z = Add(%x, %y) {}\noutput %z\n", "%z = Add(%y, %x) {}\noutput %z\n");
  const auto id = [](const std::string& law) { return LawId(ParseLaws(law)->at(0)); };
  EXPECT_EQ(id(text),
            id(absl::StrReplaceAll(text, {{"law: a", "law: b"}, {"evidence: e", "evidence: f"}})));
  EXPECT_NE(id(text), id(absl::StrReplaceAll(text, {{"Add(%y, %x)", "Add(%x, %y)"}})));
  EXPECT_NE(id(text),
            id(absl::StrReplaceAll(text, {{"evidence: e", "evidence: e\nwindows: any"}})));
  // Recipes in files name it.
  EXPECT_EQ(id(text).size(), 12u);
}

// Texts that were changed: what still is a law is looked for, and written, without a crash. It need
// not be right: nobody has proved it.
TEST(LawTextTest, ChangedTextsMakeNoCrash) {
  std::ifstream file(SourcePath("tests/optimizer/rules/laws/golden_laws.txt"));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto laws = ParseLaws(text);
  ASSERT_TRUE(laws.ok()) << laws.status();
  Random random(3);
  int parsed = 0;
  int refused = 0;
  for (int turn = 0; turn < 3000; ++turn) {
    const Law& law = (*laws)[turn % laws->size()];
    const auto rules = LawRules::Parse(MutateText(PrintLaws({law}), &random));
    if (!rules.ok()) {
      ++refused;
      continue;
    }
    ++parsed;
    const auto graph = turn % 3 == 0 ? law.source : DrawInstance(law, &random).value_or(law.source);
    for (const Rule* rule : (*rules)->rules()) {
      for (NodeId node = 0; node < graph.node_count(); ++node) {
        if (graph.node(node).op != rule->root) continue;
        for (const Rewrite& rewrite : rule->match(*rule, graph, node)) {
          const auto after = Apply(graph, rewrite);
          EXPECT_TRUE(after.ok()) << after.status() << PrintLaws({rule->pattern->law});
        }
      }
    }
  }
  EXPECT_GT(parsed, 50);
  EXPECT_GT(refused, 50);
}

}  // namespace
}  // namespace plait
