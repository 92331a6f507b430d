#include "base/arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plait {
namespace {

absl::string_view ExpectedEven(absl::string_view value) {
  return value.size() % 2 == 0 ? "" : "an even length";
}

const OptionSpec kOptions[] = {
    {"--output", OptionKind::kText, "FILE", "where it goes", "-o"},
    {"--threads", OptionKind::kInteger, "N", "how many"},
    {"--budget", OptionKind::kSeconds, "TIME", ""},
    {"--error", OptionKind::kNumber, "X", ""},
    {"--name", OptionKind::kAnyText, "NAME", ""},
    {"--even", OptionKind::kAnyText, "TEXT", "", "", ExpectedEven},
    {"--explain", OptionKind::kSwitch, "", "say why\nand how"},
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

TEST(ArgumentsTest, KeepsAllValuesOfAnOptionInOrder) {
  const auto arguments = Parse({"m", "--even", "22", "--even=4444"});
  ASSERT_TRUE(arguments.ok()) << arguments.status();
  EXPECT_THAT(arguments->Texts("--even"), testing::ElementsAre("22", "4444"));
  EXPECT_EQ(arguments->Text("--even"), "4444");
  EXPECT_THAT(arguments->Texts("--name"), testing::IsEmpty());
}

TEST(ArgumentsTest, TakesAnEmptyTextOnlyWhereItMayBeEmpty) {
  EXPECT_EQ(Parse({"m", "--name="})->Texts("--name").size(), 1u);
  EXPECT_EQ(ErrorOf({"m", "-o", ""}), "--output: expected a value, is \"\"");
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
  EXPECT_EQ(ErrorOf({"m", "--even", "123"}), "--even: expected an even length, is \"123\"");
  EXPECT_EQ(ErrorOf({"m", "--explain=1"}), "--explain takes no value");
  EXPECT_EQ(ErrorOf({"m", "--threads"}), "--threads: the value N is missing");
}

TEST(ArgumentsTest, RefusesTooFewAndTooManyPositionals) {
  EXPECT_EQ(ErrorOf({}), "MODEL is missing (see --help)");
  EXPECT_EQ(ErrorOf({"a", "b", "c"}), "unexpected argument \"c\" (expected MODEL [MODEL2])");
}

TEST(ArgumentsTest, SeesAWishForHelpBeforeTwoDashes) {
  EXPECT_TRUE(AsksForHelp({"m", "--help"}));
  EXPECT_TRUE(AsksForHelp({"-h", "--"}));
  EXPECT_FALSE(AsksForHelp({"--", "-h"}));
}

TEST(ArgumentsTest, HelpDescribesOptionsInTwoColumns) {
  const OptionSpec options[] = {kOptions[0], kOptions[1], kOptions[6]};
  EXPECT_EQ(HelpTextOf(options, 14),
            "  -o, --output FILE where it goes\n"
            "  --threads N    how many\n"
            "  --explain      say why\n"
            "                 and how\n");
}

}  // namespace
}  // namespace plait
