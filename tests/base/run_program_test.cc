#include "base/run_program.h"

#include <csignal>

#include <gtest/gtest.h>

namespace plait {
namespace {

absl::StatusOr<FinishedProgram> RunShell(const std::string& script,
                                         absl::Duration time_max = absl::Seconds(30)) {
  ProcessOptions options;
  options.program = "/bin/sh";
  options.arguments = {"sh", "-c", script};
  return RunProgram(options, time_max);
}

TEST(RunProgramTest, TakesWhatItPrints) {
  const auto finished = RunShell("echo one; echo two; echo bad >&2; exit 3");
  ASSERT_TRUE(finished.ok()) << finished.status();
  EXPECT_EQ(finished->out, "one\ntwo\n");
  EXPECT_EQ(finished->err, "bad\n");
  EXPECT_EQ(finished->end.exit_code, 3);
  EXPECT_FALSE(finished->Succeeded());
  EXPECT_TRUE(RunShell("true")->Succeeded());
}

// More than a pipe holds.
TEST(RunProgramTest, TakesTheFirstOfALot) {
  const auto finished =
      RunShell("i=0; while [ $i -lt 20000 ]; do echo 0123456789; i=$((i+1)); done");
  ASSERT_TRUE(finished.ok()) << finished.status();
  EXPECT_EQ(finished->out.size(), 64u * 1024);
  EXPECT_TRUE(finished->Succeeded());
}

TEST(RunProgramTest, EndsWhatDoesNotEnd) {
  EXPECT_TRUE(absl::IsDeadlineExceeded(RunShell("sleep 60", absl::Milliseconds(50)).status()));
  EXPECT_EQ(RunShell("kill -9 $$")->end.signal, SIGKILL);
}

TEST(RunProgramTest, SaysThatThereIsNoSuchProgram) {
  ProcessOptions options;
  options.program = "/nowhere/program";
  options.arguments = {"program"};
  EXPECT_TRUE(absl::IsUnavailable(RunProgram(options, absl::Seconds(30)).status()));
}

TEST(RunProgramTest, TheLastLineIsNotBlank) {
  EXPECT_EQ(LastLine("one\ntwo\n\n  \n"), "two");
  EXPECT_EQ(LastLine(""), "");
}

}  // namespace
}  // namespace plait
