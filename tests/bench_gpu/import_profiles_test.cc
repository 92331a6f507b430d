#include <set>

#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "optimizer/cost/profile.h"
#include "tests/bench_gpu/record_run.h"

namespace plait {
namespace {

// The key and the profile of a recorded line, by a JSON reader that the recorder does not share.
ProfileKey KeyOf(const nlohmann::json& line) {
  return {.device_fingerprint = line.at("device"),
          .family = line.at("family"),
          .variant = line.at("variant"),
          .version = line.at("version"),
          .width = line.at("width"),
          .cold_weights = line.at("cold_weights"),
          .graph_text = line.at("graph"),
          .formats = line.at("formats")};
}

Profile ProfileOf(const nlohmann::json& line) {
  return {.latency_us_median = line.at("latency_us_median"),
          .latency_us_p10 = line.at("latency_us_p10"),
          .latency_us_mad = line.at("latency_us_mad"),
          .samples = line.at("samples"),
          .bytes = line.at("bytes"),
          .flops = line.at("flops"),
          .compute_share = line.at("compute_share")};
}

TEST(ImportProfilesTest, EveryLineIsAProfileOfItsOwn) {
  const cuda::RecordRun run;
  ASSERT_EQ(run.Run("kernels --fake --kernels kernels.jsonl --out profiles.jsonl"), 0)
      << run.Text("stderr.txt");
  std::set<std::string> keys;
  int profiles = 0;
  for (const std::string& text : run.Lines("profiles.jsonl")) {
    const nlohmann::json line = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
    ASSERT_FALSE(line.is_discarded()) << text;
    if (line.at("record") != "profile") continue;
    ++profiles;
    const ProfileKey key = KeyOf(line);
    EXPECT_TRUE(keys.insert(key.ToString()).second) << "two lines of one key: " << key.ToString();
    const std::vector<std::string> formats = absl::StrSplit(key.formats, ',');
    EXPECT_EQ(formats.size(), 2u) << key.formats;
    const Profile profile = ProfileOf(line);
    EXPECT_GT(profile.latency_us_median, 0);
    EXPECT_GT(profile.samples, 0);
    EXPECT_GT(profile.flops, 0);
    EXPECT_GT(profile.compute_share, 0);
    EXPECT_LE(profile.compute_share, 1);
  }
  EXPECT_GT(profiles, 20);
}

}  // namespace
}  // namespace plait
