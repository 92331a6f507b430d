#include "server/local_workers.h"

#include <csignal>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace plait {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A configuration whose plait-worker is this script.
Config ConfigWith(const std::string& script) {
  Config config;
  config.data_dir = "/data";
  config.worker_program = absl::StrCat(testing::TempDir(), "/listing_worker");
  std::ofstream(config.worker_program) << "#!/bin/sh\n" << script << "\n";
  std::filesystem::permissions(config.worker_program, std::filesystem::perms::owner_all);
  return config;
}

constexpr char kTwoGpus[] = "[ \"$*\" = '--list cuda' ] && printf 'cuda:0\\ncuda:1\\n'";

TEST(LocalWorkersTest, EachGpuIsADevice) {
  EXPECT_THAT(LocalDevices(ConfigWith(kTwoGpus)), ElementsAre("cpu", "cuda:0", "cuda:1"));
}

TEST(LocalWorkersTest, WithoutGpusThereIsTheProcessor) {
  EXPECT_THAT(LocalDevices(ConfigWith("echo 'no libcuda.so.1' >&2; exit 9")), ElementsAre("cpu"));
  EXPECT_THAT(LocalDevices(ConfigWith("kill -9 $$")), ElementsAre("cpu"));
  Config config = ConfigWith("");
  config.worker_program = "/nowhere/plait-worker";
  EXPECT_THAT(LocalDevices(config), ElementsAre("cpu"));
}

// It has printed a device before, which is not believed: nothing says that there are no others.
TEST(LocalWorkersTest, ADriverThatHangsCostsTheGpusAndNotTheProcessor) {
  const std::string process_id = absl::StrCat(testing::TempDir(), "/listing_worker.pid");
  const Config config =
      ConfigWith(absl::StrCat("echo $$ > ", process_id, "; echo cuda:0; exec sleep 60"));
  const absl::Time began = absl::Now();
  EXPECT_THAT(LocalDevices(config, absl::Milliseconds(500)), ElementsAre("cpu"));
  EXPECT_LT(absl::Now() - began, absl::Seconds(30));
  pid_t lister = 0;
  std::ifstream(process_id) >> lister;
  ASSERT_GT(lister, 0);
  EXPECT_NE(kill(lister, 0), 0);
}

TEST(LocalWorkersTest, NoDeviceHasTwoWorkers) {
  Config config = ConfigWith(kTwoGpus);
  config.workers = {"cuda:1", "cuda", "cpu", "cpu"};
  EXPECT_THAT(LocalDevices(config), ElementsAre("cuda:1", "cuda:0", "cpu"));
}

// A worker that is named is started in any case: what is missing then stands in the log.
TEST(LocalWorkersTest, NobodyIsAskedForDevicesThatAreNamed) {
  Config config = ConfigWith("exit 1");
  config.workers = {"cpu", "cuda:7"};
  EXPECT_THAT(LocalDevices(config), ElementsAre("cpu", "cuda:7"));
  config.workers = {};
  EXPECT_THAT(LocalDevices(config), IsEmpty());
}

TEST(LocalWorkersTest, OnlyIdsAreBelieved) {
  EXPECT_THAT(LocalDevices(ConfigWith("echo cpu; echo cuda:x; echo ' cuda:0'; echo cuda:3")),
              ElementsAre("cpu", "cuda:3"));
}

TEST(LocalWorkersTest, CompiledKernelsAreKeptInTheDataDirectory) {
  const Config config = ConfigWith("");
  EXPECT_EQ(LocalWorkerOptions(config, "cuda:0").kernel_cache, "/data/kernels");
  EXPECT_EQ(LocalWorkerOptions(config, "cpu").kernel_cache, "");
}

TEST(LocalWorkersTest, WorkersHaveTheTimeToStartThatTheConfigurationGives) {
  Config config = ConfigWith("");
  EXPECT_EQ(LocalWorkerOptions(config, "cpu").start_max, absl::Minutes(1));
  config.worker_start_seconds_max = 300;
  EXPECT_EQ(LocalWorkerOptions(config, "cuda:0").start_max, absl::Minutes(5));
  EXPECT_EQ(LocalRuntimesOptions(config).start_max, absl::Minutes(5));
}

}  // namespace
}  // namespace plait
