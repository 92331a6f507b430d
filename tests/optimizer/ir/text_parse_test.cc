#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/limits.h"
#include "base/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/optimizer/ir/graphs.h"

namespace plait {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr char kSample[] = R"(# every construct once
graph {
  input %x: float32[1,3,8,8]
  input %"a b": int64[]
  const %w: int8[4] = weight ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad/4
  const %r: int8[4] = raw "AAECAw=="
  const %s: int8[4] = synthetic 7
  const %m: int8[4] = Mul(%w, %s) {} output 1
  const %k: float16[2] = [1.5,0x7e01]
  %y: float32[1,4,8,8], _ = Conv(%x, %m, _) {pads=[1,-1], a=1.5, b=floats[]} @"n 1"
  %z: undefined = Opaque(%y, %r, %k, %"a b") {l=["a","b"], f=[0.5,1.0]}
  %u: undefined = Opaque(%z) {s="\"", t=tensor int8[1] [1], o=opaque "AA=="}
  output %u, %y
}
)";

// Either outcome is right; crashing, hanging or another code is not.
void ExpectGraphOrInvalidArgument(absl::string_view text) {
  const absl::StatusOr<Graph> graph = ParseGraph(text);
  if (graph.ok()) {
    EXPECT_TRUE(ParseGraph(PrintGraph(*graph)).ok()) << text;
  } else {
    EXPECT_EQ(graph.status().code(), absl::StatusCode::kInvalidArgument) << graph.status();
    EXPECT_THAT(std::string(graph.status().message()), StartsWith("line "));
  }
}

TEST(ParseGraphTest, TheSampleItselfParses) { GraphOf(kSample); }

TEST(ParseGraphTest, SurvivesTruncationAtEveryByte) {
  const absl::string_view text = kSample;
  for (size_t size = 0; size <= text.size(); ++size) {
    ExpectGraphOrInvalidArgument(text.substr(0, size));
  }
}

TEST(ParseGraphTest, SurvivesEverySingleByteRemovedOrReplaced) {
  constexpr absl::string_view kBytes("\0\n\"\\%[]{}(),=_-9a:#\xff", 20);
  const std::string text = kSample;
  for (size_t i = 0; i < text.size(); ++i) {
    ExpectGraphOrInvalidArgument(text.substr(0, i) + text.substr(i + 1));
    for (char byte : kBytes) {
      std::string changed = text;
      changed[i] = byte;
      ExpectGraphOrInvalidArgument(changed);
    }
  }
}

TEST(ParseGraphTest, SurvivesLinesInAnyOrder) {
  std::vector<std::string> lines;
  for (size_t start = 0; start < sizeof(kSample) - 1;) {
    const size_t end = std::string(kSample).find('\n', start);
    lines.push_back(std::string(kSample).substr(start, end - start));
    start = end + 1;
  }
  Random random(5);
  for (int round = 0; round < 200; ++round) {
    std::string text;
    for (int i = 0; i < 12; ++i) {
      const auto last = static_cast<int64_t>(lines.size()) - 1;
      absl::StrAppend(&text, lines[static_cast<size_t>(random.Integer(0, last))], "\n");
    }
    ExpectGraphOrInvalidArgument(text);
  }
}

std::string ErrorOf(absl::string_view body) {
  const absl::Status status = ParseGraph(AroundX(body)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << body;
  return std::string(status.message());
}

TEST(ParseGraphTest, ErrorsNameTheLineAndTheFault) {
  EXPECT_EQ(ErrorOf("  %x: float32[4] = Relu(%x)\n"), "line 3: %x is defined twice");
  EXPECT_EQ(ErrorOf("\n  %y: float32[4] = Relu(%z)\n"), "line 4: %z is read before it is defined");
  EXPECT_EQ(ErrorOf("  %y: float32[4] = Relu(%y)\n"), "line 3: %y is read before it is defined");
  EXPECT_EQ(ErrorOf("  %y: float32[4] = Foo(%x)\n"), "line 3: \"Foo\" is not an operator");
  EXPECT_THAT(ErrorOf("  %y = Relu(%x)\n"), HasSubstr("a type is needed"));
  EXPECT_THAT(ErrorOf("  const %c: float32[4] = Neg(%x)\n"), HasSubstr("may read constants only"));
  EXPECT_THAT(ErrorOf("  %y: float32[4] = Relu(%x) {a=1, a=2}\n"), HasSubstr("a is given twice"));
  EXPECT_THAT(ErrorOf("  %y: float32[4] = Relu(%x) {a=[1,\"b\"]}\n"), HasSubstr("of one type"));
}

TEST(ParseGraphTest, HugeClaimsAllocateNothing) {
  const std::string huge = absl::StrCat("[", kTensorElementsMax, "]");
  EXPECT_THAT(ErrorOf(absl::StrCat("  const %c: float32", huge, " = [1]\n")), HasSubstr("bytes"));
  EXPECT_THAT(ErrorOf(absl::StrCat("  const %c: float32", huge, " = raw \"AAAA\"\n")),
              HasSubstr("bytes"));
  EXPECT_THAT(ErrorOf("  input %z: float32[1099511627776,2]\n"), HasSubstr("too large"));
  EXPECT_THAT(ErrorOf("  input %z: float32[99999999999999999999]\n"), HasSubstr("an integer"));
  EXPECT_THAT(ErrorOf("  input %z: float32[-1]\n"), HasSubstr("an integer"));
  EXPECT_THAT(ErrorOf("  input %z: float32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]\n"),
              HasSubstr("too large"));
  const std::string digest(64, 'a');
  EXPECT_THAT(ErrorOf(absl::StrCat("  const %c: float32[4] = weight ", digest, "/15\n")),
              HasSubstr("its weight has 15"));
}

TEST(ParseGraphTest, ValuesMustFitTheirType) {
  for (const char* value : {"int8[1] = [128]", "bool[1] = [2]", "uint8[1] = [-1]",
                            "float32[1] = [1e99]", "float16[1] = [0x12345]", "int64[1] = [1.5]",
                            "string[1] = [1]", "undefined = [1]", "complex64[1] = [1]"}) {
    EXPECT_THAT(ErrorOf(absl::StrCat("  const %c: ", value, "\n")), StartsWith("line 3: "));
  }
}

TEST(ParseGraphTest, DeepExpressionsAreRefused) {
  std::string body = "  const %c0: float32[4] = synthetic 1\n";
  for (int i = 1; i <= kConstantDepthMax; ++i) {
    absl::StrAppend(&body, "  const %c", i, ": float32[4] = Relu(%c", i - 1, ")\n");
  }
  EXPECT_THAT(ErrorOf(body), HasSubstr("nests at most 1000"));
}

TEST(ParseGraphTest, EqualNamesAreRefusedNotRenamed) {
  EXPECT_THAT(ErrorOf("  input %a: float32[4]\n  input %a: float32[4]\n"), HasSubstr("twice"));
}

TEST(ParseGraphTest, NothingMayFollowTheGraph) {
  EXPECT_EQ(ParseGraph("graph {\noutput\n}\n\n# end\n").status(), absl::OkStatus());
  EXPECT_FALSE(ParseGraph("graph {\noutput\n}\ngraph {\n").ok());
}

}  // namespace
}  // namespace plait
