#include "server/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/config_file.h"

namespace plait {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string ErrorOf(const absl::StatusOr<Config>& config) {
  return std::string(config.status().message());
}

TEST(ConfigTest, PrefersFlagThenEnvironmentThenFileThenDefault) {
  const SettingValues file = {
      {"data_dir", "/f"}, {"insecure", "true"}, {"log_level", "error"}, {"worker_threads", "3"}};
  const SettingValues environment = {{"data_dir", "/e"}, {"worker_threads", "2"}};
  const absl::StatusOr<Config> config = MakeConfig({{"data_dir", "/flag"}}, environment, file);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->data_dir, "/flag");
  EXPECT_EQ(config->worker_threads, 2);
  EXPECT_EQ(config->log_level, "error");
  EXPECT_EQ(config->listen, "127.0.0.1:7400");
}

TEST(ConfigTest, NamesAnUnknownSettingAndTheNearestKnownOne) {
  const std::string error = ErrorOf(MakeConfig({}, {}, {{"data_dri", "/x"}}));
  EXPECT_THAT(error, HasSubstr("data_dri"));
  EXPECT_THAT(error, HasSubstr("did you mean \"data_dir\"?"));
}

TEST(ConfigTest, RefusesInsecureOnAnAddressThatOthersReach) {
  const SettingValues flags = {
      {"data_dir", "/x"}, {"insecure", "true"}, {"listen", "0.0.0.0:7400"}};
  EXPECT_THAT(ErrorOf(MakeConfig(flags, {}, {})), HasSubstr("0.0.0.0:7400"));
}

TEST(ConfigTest, AcceptsInsecureOnLoopbackAndUnixSockets) {
  for (const char* address : {"127.0.0.1:0", "[::1]:0", "localhost:0", "unix:/tmp/x.sock"}) {
    EXPECT_TRUE(
        MakeConfig({{"data_dir", "/x"}, {"insecure", "true"}, {"listen", address}}, {}, {}).ok())
        << address;
  }
}

TEST(ConfigTest, WantsCertificatesUnlessInsecure) {
  EXPECT_THAT(ErrorOf(MakeConfig({{"data_dir", "/x"}}, {}, {})), HasSubstr("tls_cert"));
}

TEST(ConfigTest, NamesASettingThatIsNoNumber) {
  EXPECT_THAT(ErrorOf(MakeConfig({{"data_dir", "/x"}, {"worker_threads", "two"}}, {}, {})),
              HasSubstr("worker_threads: must be a whole number"));
}

TEST(ConfigTest, ReadsListsOfWorkers) {
  const SettingValues flags = {{"data_dir", "/x"}, {"insecure", "1"}, {"workers", "cpu,cuda:0"}};
  EXPECT_THAT(MakeConfig(flags, {}, {})->workers, ElementsAre("cpu", "cuda:0"));
}

TEST(ConfigTest, TakesItsOwnVariablesFromTheEnvironment) {
  const char* const environment[] = {"PATH=/bin", "PLAIT_DATA_DIR=/e", nullptr};
  EXPECT_EQ(SettingsFromEnvironment(environment), (SettingValues{{"data_dir", "/e"}}));
}

TEST(ConfigTest, SaysWhichFileIsMissing) {
  EXPECT_THAT(std::string(ReadConfigFile("/no/such.toml").status().message()),
              HasSubstr("/no/such.toml"));
}

}  // namespace
}  // namespace plait
