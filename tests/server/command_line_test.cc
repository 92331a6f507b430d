#include "server/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace plait {
namespace {

using testing::HasSubstr;

CommandLine Parse(std::vector<const char*> words) {
  words.insert(words.begin(), "plaitd");
  return ParseCommandLine(static_cast<int>(words.size()), words.data(), "1.2.3");
}

TEST(CommandLineTest, EverySettingHasAFlagAndItsHelp) {
  const CommandLine help = Parse({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  for (const Setting& setting : Settings()) {
    const std::string flag = absl::StrCat("--", absl::StrReplaceAll(setting.name, {{"_", "-"}}));
    EXPECT_THAT(help.output, HasSubstr(absl::StrCat("  ", flag, " ", setting.value)));
    EXPECT_THAT(help.output, HasSubstr(std::string(setting.help)));
    const bool is_switch = std::holds_alternative<bool Config::*>(setting.field);
    const CommandLine line =
        is_switch ? Parse({flag.c_str()}) : Parse({flag.c_str(), "some value"});
    EXPECT_FALSE(line.exit_code.has_value()) << flag;
    EXPECT_EQ(line.flags,
              (SettingValues{{std::string(setting.name), is_switch ? "true" : "some value"}}));
  }
}

TEST(CommandLineTest, TakesAnEmptyValue) {
  EXPECT_EQ(Parse({"--metrics-listen", ""}).flags, (SettingValues{{"metrics_listen", ""}}));
}

TEST(CommandLineTest, RefusesASettingThatIsGivenTwice) {
  const CommandLine line = Parse({"--data-dir", "/old", "--data-dir", "/new"});
  EXPECT_EQ(line.exit_code, 2);
  EXPECT_THAT(line.output, HasSubstr("--data-dir is given more than once"));
}

TEST(CommandLineTest, KnowsTheConfigurationFile) {
  const CommandLine line = Parse({"--config", "plaitd.toml", "--insecure"});
  EXPECT_EQ(line.config_file, "plaitd.toml");
  EXPECT_EQ(line.flags, (SettingValues{{"insecure", "true"}}));
}

TEST(CommandLineTest, PrintsTheVersionAndHelp) {
  EXPECT_EQ(Parse({"--version"}).output, "1.2.3");
  EXPECT_EQ(Parse({"--version"}).exit_code, 0);
  EXPECT_EQ(Parse({"-h", "--nonsense"}).exit_code, 0);
  EXPECT_THAT(Parse({"-h"}).output, HasSubstr("plaitd --data-dir /var/lib/plait --insecure\n"));
}

TEST(CommandLineTest, MistakesAreUsageErrorsThatNameTheWord) {
  EXPECT_EQ(Parse({"--data-dri", "x"}).exit_code, 2);
  EXPECT_EQ(Parse({"--data-dri", "x"}).output,
            "plaitd: unknown option --data-dri (did you mean --data-dir?)");
  EXPECT_EQ(Parse({"--listen"}).output,
            "plaitd: --listen: the value HOST:PORT|unix:PATH is missing");
  EXPECT_EQ(Parse({"model.onnx"}).exit_code, 2);
  EXPECT_THAT(Parse({"model.onnx"}).output, HasSubstr("model.onnx"));
}

}  // namespace
}  // namespace plait
