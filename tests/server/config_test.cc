#include "server/config.h"

#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "server/config_file.h"
#include "tests/files/source_path.h"

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

TEST(ConfigTest, RefusesASettingWithoutAName) {
  EXPECT_THAT(ErrorOf(MakeConfig({}, {}, {{"", "x"}})), HasSubstr("unknown setting \"\""));
}

TEST(ConfigTest, RefusesInsecureOnAnAddressThatOthersReach) {
  for (const char* address : {"0.0.0.0:7400", "127.evil.com:7400", "localhost.evil.com:7400",
                              "127.0.0.1.evil.com:7400", "[::]:7400", "127.0.0.1"}) {
    const SettingValues flags = {{"data_dir", "/x"}, {"insecure", "true"}, {"listen", address}};
    EXPECT_THAT(ErrorOf(MakeConfig(flags, {}, {})), HasSubstr(address));
  }
}

TEST(ConfigTest, AcceptsInsecureOnLoopbackAndUnixSockets) {
  for (const char* address : {"127.0.0.1:0", "[::1]:0", "localhost:0", "unix:/tmp/x.sock"}) {
    EXPECT_TRUE(
        MakeConfig({{"data_dir", "/x"}, {"insecure", "true"}, {"listen", address}}, {}, {}).ok())
        << address;
  }
}

TEST(ConfigTest, RefusesInsecureWhereWorkersOfOtherHostsConnect) {
  SettingValues flags = {{"data_dir", "/x"}, {"insecure", "true"}, {"worker_listen", "0.0.0.0:1"}};
  EXPECT_THAT(ErrorOf(MakeConfig(flags, {}, {})), HasSubstr("0.0.0.0:1"));
  flags["worker_listen"] = "127.0.0.1:0";
  EXPECT_TRUE(MakeConfig(flags, {}, {}).ok());
}

TEST(ConfigTest, ServesClientsAnywhereWithoutTlsOnRequest) {
  SettingValues flags = {
      {"data_dir", "/x"}, {"insecure_any_address", "true"}, {"listen", "0.0.0.0:7400"}};
  const absl::StatusOr<Config> config = MakeConfig(flags, {}, {});
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_TRUE(IsPlaintext(*config));
  // Whoever measures is believed.
  flags["worker_listen"] = "0.0.0.0:1";
  EXPECT_THAT(ErrorOf(MakeConfig(flags, {}, {})), HasSubstr("workers are believed"));
  flags["worker_listen"] = "";
  flags["tls_cert"] = "some.pem";
  EXPECT_THAT(ErrorOf(MakeConfig(flags, {}, {})), HasSubstr("some.pem"));
}

TEST(ConfigTest, WorkersOfOtherHostsAreNeverAnonymous) {
  SettingValues flags = {
      {"data_dir", "/x"}, {"tls_cert", "c"}, {"tls_key", "k"}, {"worker_listen", "0.0.0.0:1"}};
  EXPECT_THAT(ErrorOf(MakeConfig(flags, {}, {})), HasSubstr("tls_worker_ca: is required"));
  flags["tls_worker_ca"] = "w";
  EXPECT_TRUE(MakeConfig(flags, {}, {}).ok());
}

TEST(ConfigTest, ACertificateOfAClientMakesNoWorker) {
  const SettingValues flags = {{"data_dir", "/x"},
                               {"tls_cert", "c"},
                               {"tls_key", "k"},
                               {"tls_client_ca", "all.pem"},
                               {"tls_worker_ca", "all.pem"},
                               {"worker_listen", "0.0.0.0:1"}};
  EXPECT_THAT(ErrorOf(MakeConfig(flags, {}, {})), HasSubstr("all.pem is tls_client_ca, too"));
}

TEST(ConfigTest, RefusesTlsThatInsecureWouldIgnore) {
  for (const char* name : {"tls_cert", "tls_key", "tls_client_ca", "tls_worker_ca"}) {
    SettingValues flags = {{"data_dir", "/x"}, {"insecure", "true"}, {name, "some.pem"}};
    EXPECT_THAT(ErrorOf(MakeConfig(flags, {}, {})), HasSubstr("some.pem")) << name;
    // An empty flag takes back what a file says.
    EXPECT_TRUE(
        MakeConfig({{name, ""}}, {}, {{"data_dir", "/x"}, {"insecure", "1"}, {name, "x"}}).ok());
  }
}

TEST(ConfigTest, WantsCertificatesUnlessInsecure) {
  EXPECT_THAT(ErrorOf(MakeConfig({{"data_dir", "/x"}}, {}, {})), HasSubstr("tls_cert"));
}

TEST(ConfigTest, NamesASettingThatIsNoNumber) {
  EXPECT_THAT(ErrorOf(MakeConfig({{"data_dir", "/x"}, {"worker_threads", "two"}}, {}, {})),
              HasSubstr("worker_threads: must be a whole number"));
}

TEST(ConfigTest, NamesTheInstructionSetsThereAre) {
  EXPECT_THAT(
      ErrorOf(MakeConfig(
          {{"data_dir", "/x"}, {"worker_instruction_set", "sse9"}, {"insecure", "true"}}, {}, {})),
      HasSubstr("avx512_bf16 or amx, is \"sse9\""));
}

// A value that the setting takes and that is not its default.
std::string OtherValue(const Setting& setting) {
  if (setting.name == "worker_instruction_set") return "avx2";
  if (std::holds_alternative<bool Config::*>(setting.field)) return "true";
  if (std::holds_alternative<int64_t Config::*>(setting.field)) return "7";
  if (std::holds_alternative<std::vector<std::string> Config::*>(setting.field)) return "none";
  return "elsewhere";
}

TEST(ConfigTest, EverySettingReachesAFieldOfItsOwn) {
  for (const Setting& setting : Settings()) {
    // Instead of the files, not beside them.
    if (setting.name == "insecure" || setting.name == "insecure_any_address") continue;
    SettingValues file = {
        {"data_dir", "/x"}, {"tls_cert", "c"}, {"tls_key", "k"}, {"tls_worker_ca", "w"}};
    const Config before = *MakeConfig({}, {}, file);
    file[std::string(setting.name)] = OtherValue(setting);
    const absl::StatusOr<Config> config = MakeConfig({}, {}, file);
    ASSERT_TRUE(config.ok()) << setting.name << ": " << config.status();
    int changed = 0;
    for (const Setting& other : Settings()) {
      const bool is_changed =
          std::visit([&](auto field) { return !(before.*field == (*config).*field); }, other.field);
      EXPECT_EQ(is_changed, other.name == setting.name) << setting.name << ", " << other.name;
      changed += is_changed ? 1 : 0;
    }
    EXPECT_EQ(changed, 1) << setting.name;
  }
}

TEST(ConfigTest, RefusesNumbersOutOfBounds) {
  for (const Setting& setting : Settings()) {
    if (!std::holds_alternative<int64_t Config::*>(setting.field)) continue;
    const std::string name(setting.name);
    const auto error_of = [&](const std::string& value) {
      return ErrorOf(MakeConfig({{"data_dir", "/x"}, {"insecure", "1"}, {name, value}}, {}, {}));
    };
    EXPECT_EQ(error_of(absl::StrCat(setting.min)), "") << name;
    EXPECT_EQ(error_of(absl::StrCat(setting.max)), "") << name;
    EXPECT_THAT(error_of(absl::StrCat(setting.min - 1)), HasSubstr(name + ": must be")) << name;
    EXPECT_THAT(error_of("99999999999999999999"), HasSubstr(name + ": must be")) << name;
  }
  EXPECT_EQ(ErrorOf(MakeConfig({{"data_dir", "/x"}, {"jobs_running_max", "65"}}, {}, {})),
            "jobs_running_max: must be a whole number, 1 to 64, is \"65\"");
}

TEST(ConfigTest, TheGuideListsEverySetting) {
  std::ifstream file(SourcePath("docs/operations.md"));
  std::ostringstream guide;
  guide << file.rdbuf();
  for (const Setting& setting : Settings()) {
    EXPECT_THAT(guide.str(), HasSubstr(absl::StrCat("\n| `", setting.name, "` | ")));
  }
}

TEST(ConfigTest, ReadsListsOfWorkers) {
  const SettingValues flags = {{"data_dir", "/x"}, {"insecure", "1"}, {"workers", "cpu,cpu"}};
  EXPECT_THAT(MakeConfig(flags, {}, {})->workers, ElementsAre("cpu", "cpu"));
}

TEST(ConfigTest, RefusesWorkersThatCouldNotServe) {
  for (const char* device : {"tpu", "reference", "model:h200"}) {
    const SettingValues flags = {{"data_dir", "/x"}, {"insecure", "1"}, {"workers", device}};
    EXPECT_THAT(ErrorOf(MakeConfig(flags, {}, {})), HasSubstr("workers: must be")) << device;
  }
}

TEST(ConfigTest, TakesItsOwnVariablesFromTheEnvironment) {
  const char* const environment[] = {"PATH=/bin", "PLAIT_DATA_DIR=/e", nullptr};
  EXPECT_EQ(SettingsFromEnvironment(environment), (SettingValues{{"data_dir", "/e"}}));
}

// Otherwise a value of another kind would count as none.
TEST(ConfigTest, RefusesAValueThatNoSettingHas) {
  const std::string path = testing::TempDir() + "/kinds.toml";
  for (const char* value : {"1.5", "2026-01-31", "{ host = \"x\" }", "[[\"cpu\"]]", "[1]"}) {
    std::ofstream(path) << "data_dir = \"/x\"\nworkers = " << value << "\n";
    EXPECT_THAT(std::string(ReadConfigFile(path).status().message()),
                HasSubstr(path + ":2: workers must be a text"))
        << value;
  }
  std::ofstream(path) << "data_dir = \"/x\"\n[workers]\ncpu = 1\n";
  EXPECT_THAT(std::string(ReadConfigFile(path).status().message()), HasSubstr("workers must be"));
  std::ofstream(path) << "workers = []\njobs_running_max = 2\ninsecure = true\n";
  EXPECT_EQ(*ReadConfigFile(path),
            (SettingValues{{"workers", "none"}, {"jobs_running_max", "2"}, {"insecure", "true"}}));
}

TEST(ConfigTest, SaysWhichFileIsMissing) {
  EXPECT_THAT(std::string(ReadConfigFile("/no/such.toml").status().message()),
              HasSubstr("/no/such.toml"));
}

}  // namespace
}  // namespace plait
