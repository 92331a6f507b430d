// The generated laws, proved again with other seeds, and laws that are none.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "optimizer/ir/text.h"
#include "optimizer/rules/generator/find_laws.h"
#include "optimizer/rules/generator/verify_law.h"
#include "optimizer/rules/laws/law.h"
#include "tests/files/source_path.h"
#include "tests/optimizer/rules/equivalence.h"
#include "tests/optimizer/rules/generator/mutate.h"

namespace plait {
namespace {

constexpr const char* kFiles[] = {"deep", "matrix", "sum", "image"};

std::string TextOf(absl::string_view file) {
  std::ifstream stream(SourcePath("optimizer/rules/generated/" + std::string(file) + ".txt"));
  EXPECT_TRUE(stream) << file;
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::vector<Law> GeneratedLaws() {
  std::vector<Law> all;
  for (const char* file : kFiles) {
    auto laws = ParseLaws(TextOf(file));
    EXPECT_TRUE(laws.ok()) << file << ": " << laws.status();
    if (laws.ok()) all.insert(all.end(), laws->begin(), laws->end());
  }
  return all;
}

TEST(GeneratedLawsTest, AreProvedAgainWithAnotherSeed) {
  const std::vector<Law> laws = GeneratedLaws();
  EXPECT_GE(laws.size(), 50u);
  for (const Law& law : laws) {
    const auto evidence = VerifyLaw(law, 987654321);
    ASSERT_TRUE(evidence.ok()) << law.name << ": " << evidence.status();
    EXPECT_GE(evidence->points, 9) << law.name;
    EXPECT_FALSE(law.evidence.empty()) << law.name;
  }
}

TEST(GeneratedLawsTest, HoldInFloatingPoint) {
  for (const Law& law : GeneratedLaws()) {
    const auto equivalent = CheckEquivalent(law.source, law.target);
    ASSERT_TRUE(equivalent.ok()) << law.name << ": " << equivalent.status();
    EXPECT_EQ(*equivalent, Exactness::kFieldToo) << law.name;
  }
}

TEST(GeneratedLawsTest, PrintAsTheyWereRead) {
  for (const char* file : kFiles) {
    const std::string text = TextOf(file);
    const auto laws = ParseLaws(text);
    ASSERT_TRUE(laws.ok()) << laws.status();
    EXPECT_EQ(PrintLaws(*laws), text);
  }
}

// The generator still finds what lies in the folder: the smallest core, from the file's seed.
TEST(GeneratedLawsTest, AreWhatTheGeneratorFinds) {
  std::set<std::string> known;
  const auto found = FindLaws(DeepMatrixCore(), 1, 4'000'000, &known);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(PrintLaws(found->laws), TextOf("deep"));
}

TEST(FindLawsTest, StopsAtItsLimit) {
  std::set<std::string> known;
  EXPECT_TRUE(absl::IsResourceExhausted(FindLaws(DeepMatrixCore(), 1, 1000, &known).status()));
}

// What is proved in GF(p) holds in floating point; what is refuted there differs in floating point
// as well, but for a function of one element, which is Relu in the one and any in the other.
TEST(MutantsTest, FiveHundredAreCaughtUnlessTheyAreLawsThemselves) {
  const std::vector<Law> laws = GeneratedLaws();
  ASSERT_FALSE(laws.empty());
  Random random(16);
  int mutants = 0;
  int caught = 0;
  while (mutants < 500) {
    const Law& law = laws[random.Integer(0, static_cast<int64_t>(laws.size()) - 1)];
    const auto mutant = Mutate(law, &random);
    if (!mutant || PrintGraph(mutant->law.target) == PrintGraph(law.target)) continue;
    ++mutants;
    SCOPED_TRACE(mutant->change);
    const bool is_law = VerifyLaw(mutant->law, 5).ok();
    const bool holds_in_float =
        CheckEquivalent(law.source, mutant->law.target, /*exact=*/false).ok();
    caught += !is_law;
    if (is_law || PrintGraph(law.source).find("Relu") == std::string::npos) {
      EXPECT_EQ(is_law, holds_in_float) << PrintGraph(law.source) << PrintGraph(mutant->law.target);
    }
  }
  RecordProperty("caught", caught);
  std::printf("%d of %d mutants are no laws and were caught\n", caught, mutants);
  EXPECT_GE(caught, 250);
}

absl::Status Verify(const std::string& inputs, const std::string& source,
                    const std::string& target) {
  const std::string head = "graph {\n" + inputs;
  auto laws = ParseLaws("law: tried\nevidence: none\nsource:\n" + head + source + "}\ntarget:\n" +
                        head + target + "}\n");
  if (!laws.ok()) return laws.status();
  return VerifyLaw(laws->at(0), 3).status();
}

// TASO ships a rule that folds a factor into a convolution and drops it.
TEST(UnsoundLawsTest, ADroppedFactorIsCaught) {
  const std::string inputs =
      "input %x: float32[2,4,7,9]\ninput %w: float32[4,4,3,3]\ninput %y: float32[2,4,7,9]\n";
  const std::string conv = "%c = Conv(%x, %w) {pads=[1,1,1,1], strides=[1,1]}\n";
  EXPECT_FALSE(
      Verify(inputs, conv + "%z = Mul(%c, %y) {}\noutput %z\n", conv + "output %c\n").ok());
}

// Differences below a tolerance are differences: a float check with 1e-5 passes this one.
TEST(UnsoundLawsTest, AVanishingTermIsCaught) {
  const std::string inputs = "input %x: float32[2,4]\nconst %e: float32[1,1] = [0.00000001]\n";
  EXPECT_FALSE(Verify(inputs, "%s = Mul(%x, %e) {}\n%z = Add(%x, %s) {}\noutput %z\n",
                      "%z = Identity(%x) {}\noutput %z\n")
                   .ok());
}

TEST(UnsoundLawsTest, AKernelEnlargedWithTheWrongPaddingIsCaught) {
  const std::string inputs = "input %x: float32[2,4,7,9]\ninput %w: float32[5,4,1,1]\n";
  const std::string source = "%y = Conv(%x, %w) {}\noutput %y\n";
  const auto enlarged = [](const std::string& pads) {
    return "const %p: int64[8] = [" + pads +
           "]\n%v = Pad(%w, %p) {}\n%y = Conv(%x, %v) {pads=[1,1,1,1]}\noutput %y\n";
  };
  EXPECT_TRUE(Verify(inputs, source, enlarged("0,0,1,1,0,0,1,1")).ok())
      << Verify(inputs, source, enlarged("0,0,1,1,0,0,1,1"));
  EXPECT_FALSE(Verify(inputs, source, enlarged("0,0,2,2,0,0,0,0")).ok());
}

TEST(UnsoundLawsTest, ASplitAlongAnotherAxisIsCaught) {
  const std::string inputs = "input %x: float32[4,4]\ninput %y: float32[4,4]\n";
  const auto target = [](const std::string& axis) {
    return "%c = Concat(%x, %y) {axis=0}\n%r = Relu(%c) {}\n%a, %b = Split(%r) {axis=" + axis +
           ", num_outputs=2}\noutput %a, %b\n";
  };
  const std::string source = "%a = Relu(%x) {}\n%b = Relu(%y) {}\noutput %a, %b\n";
  EXPECT_TRUE(Verify(inputs, source, target("0")).ok()) << Verify(inputs, source, target("0"));
  EXPECT_FALSE(Verify(inputs, source, target("1")).ok());
}

TEST(UnsoundLawsTest, ProductsInAnotherOrderAreCaught) {
  const std::string inputs = "input %x: float32[4,4]\ninput %y: float32[4,4]\n";
  EXPECT_FALSE(
      Verify(inputs, "%z = MatMul(%x, %y) {}\noutput %z\n", "%z = MatMul(%y, %x) {}\noutput %z\n")
          .ok());
}

TEST(LawTextTest, RefusesWhatIsWrong) {
  const std::string side = "graph {\ninput %x: float32[2,4]\n%y = Relu(%x) {}\noutput %y\n}\n";
  const std::string other = "graph {\ninput %x: float32[2,5]\n%y = Relu(%x) {}\noutput %y\n}\n";
  const std::string good = "law: a\nevidence: e\nsource:\n" + side + "target:\n" + side;
  EXPECT_TRUE(ParseLaws(good).ok()) << ParseLaws(good).status();
  const std::pair<std::string, std::string> cases[] = {
      {"x\n" + good, "text in front of the first law"},
      {"law: a\nsource:\n" + side, "law a: a side is missing"},
      {good + good, "law a: its name is there twice"},
      {good + "target:\n" + side, "law a: a side is there twice"},
      {"law: a\nnonsense\n", "law a: text outside of its sides"},
      {"law: a\nsource:\n" + side + "target:\n" + other, "law a: its sides have different inputs"},
      {"law: a\nsource:\ngraph {\ntarget:\n" + side, "law a: "},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_THAT(std::string(ParseLaws(text).status().message()), testing::HasSubstr(message));
  }
}

}  // namespace
}  // namespace plait
