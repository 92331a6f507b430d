#include "client/cli.h"

#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/json.h"

namespace plait {
namespace {

struct Outcome {
  ExitCode code;
  std::string out;
  std::string err;
};

Outcome RunWords(const std::vector<std::string>& words) {
  std::ostringstream out;
  std::ostringstream err;
  Console console = {out, err};
  Interrupts interrupts;
  const ExitCode code =
      RunCli(words, console, interrupts, {"/nonexistent", "/nonexistent/cache", ""});
  return {code, out.str(), err.str()};
}

TEST(CliTest, SuggestsTheNearestVerb) {
  const Outcome outcome = RunWords({"optimise"});
  EXPECT_EQ(outcome.code, ExitCode::kUsage);
  EXPECT_EQ(outcome.err, "plait: usage : unknown verb optimise (did you mean optimize?)\n");
  EXPECT_EQ(outcome.out, "");
}

TEST(CliTest, ReportsErrorsAsJsonOnRequest) {
  const Outcome outcome = RunWords({"bench", "--json", "--nothing"});
  EXPECT_EQ(outcome.code, ExitCode::kUsage);
  EXPECT_EQ(outcome.out,
            "{\"error\":{\"reason\":\"INVALID_REQUEST\","
            "\"message\":\"unknown option --nothing (see --help)\"}}\n");
  EXPECT_EQ(outcome.err, "plait: bench : unknown option --nothing (see --help)\n");
}

TEST(CliTest, EveryVerbHasHelpWithItsExamples) {
  std::set<std::string> names;
  for (const Command* command : AllCommands()) {
    const std::string name(command->name);
    EXPECT_TRUE(names.insert(name).second) << name;
    const Outcome outcome = RunWords({name, "--help"});
    EXPECT_EQ(outcome.code, ExitCode::kOk);
    EXPECT_THAT(outcome.out, testing::HasSubstr("plait " + name));
    EXPECT_THAT(outcome.out, testing::HasSubstr("examples:\n  plait " + name));
  }
  EXPECT_EQ(names.size(), 21u);
}

TEST(CliTest, NeedsAServerForVerbsThatWorkOnJobs) {
  for (const char* verb : {"jobs", "cancel", "watch", "result"}) {
    std::vector<std::string> words = {verb};
    if (std::string(verb) != "jobs") words.push_back("id");
    const Outcome outcome = RunWords(words);
    EXPECT_EQ(outcome.code, ExitCode::kUsage) << verb;
    EXPECT_THAT(outcome.err, testing::HasSubstr("--server is missing"));
  }
}

TEST(CliTest, NamesTheModelThatIsNotThere) {
  const Outcome outcome = RunWords({"optimize", "/nonexistent/model.onnx"});
  EXPECT_EQ(outcome.code, ExitCode::kUsage);
  EXPECT_THAT(outcome.err, testing::HasSubstr("/nonexistent/model.onnx"));
}

TEST(CliTest, RefusesPoliciesThatDoNotExist) {
  const Outcome outcome = RunWords({"optimize", "m.onnx", "--search", "magic"});
  EXPECT_EQ(outcome.code, ExitCode::kUsage);
  EXPECT_THAT(outcome.err, testing::HasSubstr("autograph"));
}

TEST(CliTest, RefusesAWishAndItsOpposite) {
  const Outcome outcome = RunWords({"optimize", "model.onnx", "--portable", "--no-portable"});
  EXPECT_EQ(outcome.code, ExitCode::kUsage);
  EXPECT_EQ(outcome.err, "plait: optimize : --portable and --no-portable exclude each other\n");
}

// What help texts offer and what is accepted come from the same lists.
TEST(CliTest, OffersNoPrecisionOrDeviceThatIsNotThere) {
  const std::string help = RunWords({"optimize", "--help"}).out;
  for (const char* name : {"cuda", "model:", "fp8", "int8"}) {
    EXPECT_THAT(help, testing::Not(testing::HasSubstr(name)));
  }
  EXPECT_THAT(help, testing::HasSubstr("strict, auto, tf32, fp16 or bf16; default strict"));
  EXPECT_EQ(
      RunWords({"optimize", "model.onnx", "--precision", "fp8"}).err,
      "plait: optimize : options.precision: must be one of strict, auto, tf32, fp16, bf16, is "
      "\"fp8\"\n");
}

TEST(CliTest, PrintsTheVersionAsJson) {
  const Outcome outcome = RunWords({"version", "--json"});
  EXPECT_EQ(outcome.code, ExitCode::kOk);
  const Json json = Json::parse(outcome.out, nullptr, false);
  ASSERT_TRUE(json.contains("version"));
  EXPECT_NE(json.value("version", ""), "");
}

}  // namespace
}  // namespace plait
