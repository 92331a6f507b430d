#include <filesystem>
#include <map>
#include <set>

#include <stdlib.h>

#include "bench/gpu/flat_json.h"
#include "bench/gpu/supervisor.h"
#include "gtest/gtest.h"
#include "tests/bench_gpu/record_run.h"

namespace plait::cuda {
namespace {

constexpr const char* kKernels = "kernels --fake --kernels kernels.jsonl --out profiles.jsonl";
constexpr const char* kContention =
    "contention --fake --kernels kernels.jsonl --profiles profiles.jsonl --out contention.jsonl";

std::map<std::string, int> CountRecords(const std::vector<std::string>& lines) {
  std::map<std::string, int> counts;
  for (const std::string& line : lines) {
    const auto object = FlatObject::Parse(line);
    EXPECT_TRUE(object.ok()) << line;
    if (!object.ok()) continue;
    EXPECT_EQ(object.value().Text("device"), "fake") << line;
    ++counts[object.value().Text("record")];
  }
  return counts;
}

TEST(RecordTest, KernelsTimesEveryRightCandidateAndRefusesTheWrongOne) {
  const RecordRun run;
  ASSERT_EQ(run.Run(std::string(kKernels) + " --precision strict,fp16"), 0)
      << run.Text("stderr.txt");
  const auto lines = run.Lines("profiles.jsonl");
  const auto counts = CountRecords(lines);
  // conv and elementwise in two layouts, matmul and softmax in one; two precisions.
  constexpr int kJobs = 2 * (2 + 2 + 1 + 1);
  EXPECT_EQ(counts.at("done"), kJobs);
  EXPECT_EQ(counts.at("failure"), kJobs);
  // Two candidates; those with weights are timed cold as well.
  EXPECT_EQ(counts.at("profile"), 2 * (kJobs + 2 * (2 + 1)));
  for (const std::string& line : lines) {
    const FlatObject object = FlatObject::Parse(line).value();
    if (object.Text("record") == "failure") {
      EXPECT_NE(object.Text("variant").find("fake/wrong"), std::string::npos);
      EXPECT_NE(object.Text("failure").find("NaN"), std::string::npos) << line;
    }
    if (object.Text("record") != "profile") continue;
    EXPECT_GT(object.Number("latency_us_median"), 0);
    EXPECT_GE(object.Integer("samples"), 6);
    EXPECT_GT(object.Integer("bytes"), 0);
    EXPECT_EQ(object.Integer("clock_mhz_min"), 1980);
    EXPECT_EQ(object.Integer("clock_mhz_max"), 1980);
    EXPECT_EQ(object.Integer("clock_spans"), 3) << "one in each round";
    EXPECT_EQ(object.Integer("clock_spans_moving"), 0);
    EXPECT_NE(line.find(R"("clock_limits":["power"])"), std::string::npos) << line;
    EXPECT_EQ(object.IntegerLists("kernel_grids"), (std::vector<std::vector<int64_t>>{{8, 1, 1}}));
  }
}

TEST(RecordTest, KernelsResumesAndEndsATornLine) {
  const RecordRun run;
  const std::string command = std::string(kKernels) + " --precision strict --layout nchw";
  ASSERT_EQ(run.Run(command + " --max-kernels 2"), 0);
  const auto first = run.Lines("profiles.jsonl");
  // The run was killed in the middle of a line of its second job.
  std::string torn;
  for (size_t i = 0; i + 1 < first.size(); ++i) torn += first[i] + "\n";
  run.Write("profiles.jsonl", torn + first.back().substr(0, 20));
  ASSERT_EQ(run.Run(command), 0) << run.Text("stderr.txt");
  std::set<std::string> profiles;
  int done = 0, unreadable = 0;
  for (const std::string& line : run.Lines("profiles.jsonl")) {
    const auto object = FlatObject::Parse(line);
    unreadable += !object.ok();
    if (!object.ok()) continue;
    done += object.value().Text("record") == "done";
    if (object.value().Text("record") != "profile") continue;
    EXPECT_TRUE(profiles
                    .insert(object.value().Text("graph") + object.value().Text("variant") +
                            (object.value().Bool("cold_weights") ? "cold" : "warm"))
                    .second)
        << "recorded twice: " << line;
  }
  EXPECT_EQ(unreadable, 1);
  EXPECT_EQ(done, 4);
  const size_t lines = run.Lines("profiles.jsonl").size();
  ASSERT_EQ(run.Run(command), 0);
  EXPECT_EQ(run.Lines("profiles.jsonl").size(), lines) << "a finished run added something";
}

TEST(RecordTest, KernelsStopsInTime) {
  const RecordRun run;
  ASSERT_EQ(run.Run(std::string(kKernels) + " --max-seconds 0"), 0);
  EXPECT_TRUE(run.Lines("profiles.jsonl").empty());
}

TEST(RecordTest, ConstantsWritesEveryGroup) {
  const RecordRun run;
  ASSERT_EQ(run.Run("constants --fake --out constants.json"), 0) << run.Text("stderr.txt");
  const std::string text = run.Text("constants.json");
  EXPECT_NE(text.find("\"device\":\"fake\""), std::string::npos);
  EXPECT_NE(text.find("\"complete\":true"), std::string::npos);
  for (const char* name :
       {"gap_between_dependent_kernels", "join_cost", "fork_cost", "captured_crossing",
        "explicit_crossing", "graph_launch_host_straight", "graph_instantiate_host",
        "pair_with_programmatic_edge", "copy_rate_read_and_write", "repeated_read_rate",
        "gemm_rate_fp16", "event_resolution"}) {
    EXPECT_NE(text.find(name), std::string::npos) << name;
  }
  // Of a fake device power and heat are the one thing that cannot be read.
  EXPECT_NE(text.find("\"group\":\"clocks\""), std::string::npos);
}

TEST(RecordTest, ContentionRecordsEveryPairAndHoldsHalfOut) {
  const RecordRun run;
  ASSERT_EQ(run.Run(kKernels), 0);
  ASSERT_EQ(run.Run(kContention), 0) << run.Text("stderr.txt");
  const auto lines = run.Lines("contention.jsonl");
  const auto counts = CountRecords(lines);
  EXPECT_EQ(counts.at("alone"), 4);
  EXPECT_EQ(counts.at("contention"), 6 + 4);  // pairs, and every triple of four
  int held_out = 0;
  for (const std::string& line : lines) {
    const FlatObject object = FlatObject::Parse(line).value();
    EXPECT_GT(object.Number("makespan_us_median"), 0);
    held_out += object.Bool("held_out");
  }
  EXPECT_GT(held_out, 0);
  EXPECT_LT(held_out, 10);
  ASSERT_EQ(run.Run(kContention), 0);
  EXPECT_EQ(run.Lines("contention.jsonl"), lines) << "a finished run added something";
}

TEST(RecordTest, ContentionLeavesOutWhatFailedAlone) {
  const RecordRun run;
  ASSERT_EQ(run.Run(kKernels), 0);
  ASSERT_EQ(run.Run(kContention), 0) << run.Text("stderr.txt");
  // As if the first kernel had ended the process, which is then started again.
  std::string line = run.Lines("contention.jsonl").front();
  const std::string alone = R"("record":"alone")";
  ASSERT_NE(line.find(alone), std::string::npos) << line;
  line.replace(line.find(alone), alone.size(), R"("record":"failure")");
  run.Write("contention.jsonl", line + "\n");
  ASSERT_EQ(run.Run(kContention), 0) << run.Text("stderr.txt");
  const auto counts = CountRecords(run.Lines("contention.jsonl"));
  EXPECT_EQ(counts.at("failure"), 1);
  EXPECT_EQ(counts.at("alone"), 3);
  EXPECT_EQ(counts.at("contention"), 3 + 1);
}

TEST(RecordTest, BadCommandLinesExitWith2) {
  const RecordRun run;
  for (const char* arguments :
       {"", "unknown", "kernels", "kernels --kernels k --out o --unknown", "kernels --kernels",
        "constants --out o --max-seconds soon", "kernels --kernels k --out o --precision fp8",
        "kernels --kernels k --out o --layout sideways", "contention --kernels k --out o"}) {
    EXPECT_EQ(run.Run(arguments), 2) << arguments;
  }
  EXPECT_EQ(run.Run("--help"), 0);
  EXPECT_NE(run.Text("stdout.txt").find("Examples"), std::string::npos);
}

TEST(RecordTest, MissingFilesAreErrors) {
  const RecordRun run;
  EXPECT_EQ(run.Run("kernels --fake --kernels none.jsonl --out profiles.jsonl"), 1);
  run.Write("empty.jsonl", "not json\n");
  EXPECT_EQ(run.Run("kernels --fake --kernels empty.jsonl --out profiles.jsonl"), 1);
  EXPECT_EQ(run.Run("kernels --fake --kernels kernels.jsonl --out no/such/folder.jsonl"), 1);
}

#ifdef PLAIT_SIMULATED_LIBCUDA
// With a driver cuDNN lists engines that are compiled at run time; the simulated one refuses what
// they are compiled to.
TEST(RecordTest, EnumerateFailsWhereACandidateCannotBeBuilt) {
  const RecordRun run;
  const std::string enumerate =
      "enumerate --kernels kernels.jsonl --precision tf32 --layout nchw --deviceless";
  std::filesystem::create_symlink(PLAIT_SIMULATED_LIBCUDA, run.Path("libcuda.so.1"));
  ASSERT_EQ(run.Run(enumerate), 0) << run.Text("stdout.txt");
  if (run.Text("stdout.txt").find("libcudnn.so.9") != std::string::npos) {
    GTEST_SKIP() << "cuDNN is not here";
  }
  ASSERT_EQ(setenv("LD_LIBRARY_PATH", run.Path("").c_str(), 1), 0);
  const int built = run.Run(enumerate);
  const int all_built = run.Run(enumerate + " --prepare-all");
  unsetenv("LD_LIBRARY_PATH");
  EXPECT_EQ(built, 0);
  EXPECT_EQ(all_built, 1);
  EXPECT_NE(run.Text("stdout.txt").find("cuLibraryLoadData"), std::string::npos);
}
#endif

TEST(SupervisorTest, ACrashCostsOnlyTheAttempt) {
  const RecordRun run;
  const std::string out = run.Path("out.txt");
  // The lines on file tell a new worker how far the last one came, as in the recorder.
  const int status = Supervise(out, [&](Attempt& attempt) {
    const size_t done = run.Lines("out.txt").size();
    if (done == 2) return 0;
    attempt.Begin("crashed " + std::to_string(done));
    if (done == 0) std::abort();
    run.Write("out.txt", run.Text("out.txt") + "broken context\n");
    return kRestart;
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(run.Lines("out.txt"), (std::vector<std::string>{"crashed 0", "broken context"}));
}

TEST(SupervisorTest, ACrashOutsideOfAnAttemptIsNotTriedAgain) {
  const RecordRun run;
  EXPECT_EQ(Supervise(run.Path("out.txt"), [](Attempt&) -> int { std::abort(); }), 1);
  EXPECT_TRUE(run.Lines("out.txt").empty());
}

}  // namespace
}  // namespace plait::cuda
