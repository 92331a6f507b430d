#include "client/arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plait {
namespace {

const OptionSpec kOptions[] = {
    {"--output", OptionKind::kText, "FILE", "", "-o"}, {"--threads", OptionKind::kInteger, "N", ""},
    {"--budget", OptionKind::kSeconds, "TIME", ""},    {"--error", OptionKind::kNumber, "X", ""},
    {"--shape", OptionKind::kShape, "NAME=DIMS", ""},  {"--explain", OptionKind::kSwitch, "", ""},
};

absl::StatusOr<Arguments> Parse(const std::vector<std::string>& words) {
  return ParseArguments(words, kOptions, "MODEL [MODEL2]");
}

std::string ErrorOf(const std::vector<std::string>& words) {
  return std::string(Parse(words).status().message());
}

TEST(ArgumentsTest, ReadsOptionsAndPositionalsInAnyOrder) {
  const auto arguments = Parse(
      {"--threads", "4", "a.onnx", "-o", "b.onnx", "--budget=2m", "--explain", "--error=1e-3"});
  ASSERT_TRUE(arguments.ok()) << arguments.status();
  EXPECT_EQ(arguments->Integer("--threads"), 4);
  EXPECT_EQ(arguments->Text("--output"), "b.onnx");
  EXPECT_EQ(arguments->Seconds("--budget"), 120);
  EXPECT_EQ(arguments->Number("--error"), 1e-3);
  EXPECT_TRUE(arguments->Has("--explain"));
  EXPECT_THAT(arguments->positionals(), testing::ElementsAre("a.onnx"));
}

TEST(ArgumentsTest, GivesTheFallbackOfAnOptionThatIsMissing) {
  const auto arguments = Parse({"a.onnx"});
  ASSERT_TRUE(arguments.ok());
  EXPECT_EQ(arguments->Text("--output", "x"), "x");
  EXPECT_EQ(arguments->Integer("--threads", 7), 7);
  EXPECT_FALSE(arguments->Has("--explain"));
}

TEST(ArgumentsTest, TakesEverythingBehindTwoDashesAsPositional) {
  const auto arguments = Parse({"--", "--threads", "-x"});
  ASSERT_TRUE(arguments.ok());
  EXPECT_THAT(arguments->positionals(), testing::ElementsAre("--threads", "-x"));
}

TEST(ArgumentsTest, ReadsSeveralShapesAndSplitsAtTheLastEqualsSign) {
  const auto arguments = Parse({"m", "--shape", "a=1x3", "--shape", "b=c=2", "--shape", "s="});
  ASSERT_TRUE(arguments.ok()) << arguments.status();
  const auto shapes = arguments->Shapes("--shape");
  ASSERT_EQ(shapes.size(), 3u);
  EXPECT_EQ(shapes[0].second, (Shape{1, 3}));
  EXPECT_EQ(shapes[1].first, "b=c");
  EXPECT_TRUE(shapes[2].second.empty());
}

TEST(ArgumentsTest, NamesTheNearestOption) {
  EXPECT_EQ(ErrorOf({"m", "--thread", "4"}), "unknown option --thread (did you mean --threads?)");
  EXPECT_EQ(ErrorOf({"m", "--zzzzzzzz"}), "unknown option --zzzzzzzz (see --help)");
}

TEST(ArgumentsTest, RefusesValuesOfTheWrongKind) {
  EXPECT_EQ(ErrorOf({"m", "--threads", "-1"}),
            "--threads: expected an integer, 0 or more, is \"-1\"");
  EXPECT_EQ(ErrorOf({"m", "--budget", "soon"}),
            "--budget: expected a time such as 60s, 2m or 1h, is \"soon\"");
  EXPECT_EQ(ErrorOf({"m", "--error", "nan"}), "--error: expected a number, 0 or more, is \"nan\"");
  EXPECT_FALSE(Parse({"m", "--shape", "a=1x0"}).ok());
  EXPECT_FALSE(Parse({"m", "--shape", "a=99999999999x99999999999"}).ok());
  EXPECT_EQ(ErrorOf({"m", "--explain=1"}), "--explain takes no value");
  EXPECT_EQ(ErrorOf({"m", "--threads"}), "--threads: the value N is missing");
}

TEST(ArgumentsTest, RefusesTooFewAndTooManyPositionals) {
  EXPECT_EQ(ErrorOf({}), "MODEL is missing (see --help)");
  EXPECT_EQ(ErrorOf({"a", "b", "c"}), "unexpected argument \"c\" (expected MODEL [MODEL2])");
}

}  // namespace
}  // namespace plait
