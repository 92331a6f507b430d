#include "client/kernel_list/recording.h"

#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "optimizer/kernels/lone_kernel.h"
#include "tests/files/source_path.h"

namespace plait {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kFiled[] = "bench/results/gpu/nvidia-h200/2026-11-26/";
constexpr char kFacts[] =
    R"({"device":"cuda","fake":false,"name":"NVIDIA H200","date":"2026-11-26T06:37:11Z"})";

// A convolution of one pixel each, of so many channels to as many.
std::string ConvLine(int channels) {
  const std::string image = absl::StrCat("float32[1,", channels, ",28,28]");
  return absl::StrCat(
      R"({"family":"conv","formats":"plain,plain","graph":"graph {\n  input %i0: )", image,
      R"(\n  const %c0: float32[)", channels, ",", channels, R"(,1,1] = synthetic 0\n  %t0: )",
      image, R"( = Conv(%i0, %c0) {dilations=[1,1], group=1, kernel_shape=[1,1], pads=[0,0,0,0], )",
      R"(strides=[1,1]}\n  output %t0\n}\n"})", "\n");
}

std::string ProfileLine(int kernel, const std::string& candidate, double us,
                        const std::string& device = "NVIDIA H200; driver 1",
                        const std::string& precision = "strict", bool cold = true) {
  return absl::StrCat(R"({"kernel":)", kernel, R"(,"record":"profile","family":"conv","device":")",
                      device, R"(","precision":")", precision,
                      R"(","formats":"plain,plain","variant":"strict/nchw/)", candidate,
                      R"(","cold_weights":)", cold ? "true" : "false", R"(,"latency_us_median":)",
                      us, R"(,"latency_us_p10":)", us, R"(,"latency_us_mad":0.25,"samples":15,)",
                      R"("compute_share":0.5})", "\n");
}

std::string CandidateLine(int channels, const std::string& layout, double us) {
  return absl::StrCat(R"({"problem":"conv n1 c)", channels, " h28 w28 k", channels, " r1x1 st1 g1 ",
                      layout, R"(","us":{"slow":9,"fast":)", us, R"(},"finalist_us":{}})", "\n");
}

absl::StatusOr<Recording> Read(const std::string& kernels, const std::string& profiles,
                               const std::string& candidates = "",
                               const std::string& facts = kFacts) {
  return ReadRecording({{"device.json", facts},
                        {"kernels.jsonl", kernels},
                        {"profiles.jsonl", profiles},
                        {"candidates.jsonl", candidates}});
}

TEST(RecordingTest, KeepsTheFastestCandidateOfEachKernelAndLayout) {
  const auto recording =
      Read(ConvLine(16) + ConvLine(24),
           ProfileLine(0, "cudnn/eng1", 7.5) + ProfileLine(0, "cudnn/eng2", 5.25) +
               ProfileLine(0, "cudnn/eng3", 6),
           CandidateLine(16, "nchw", 5.5) + CandidateLine(16, "nhwc", 3.5) +
               CandidateLine(24, "nchw", 4.5));
  ASSERT_TRUE(recording.ok()) << recording.status();
  ASSERT_EQ(recording->times.size(), 3u);
  std::map<std::string, RecordedTime> times;
  for (const RecordedTime& time : recording->times) {
    EXPECT_EQ(time.key.device_fingerprint, "model;_h200");
    EXPECT_EQ(time.key.variant, "strict/auto");
    EXPECT_TRUE(LoneKernelOf(time.key).ok());
    EXPECT_GT(time.predicted_us, 0);
    const bool is_first = absl::StrContains(time.key.graph_text, "[16,16,1,1]");
    times[absl::StrCat(is_first ? "16 " : "24 ", time.key.formats)] = time;
  }
  const RecordedTime& profile = times.at("16 plain,plain");
  EXPECT_EQ(profile.candidate, "cudnn/eng2");
  EXPECT_EQ(profile.profile.latency_us_median, 5.25);
  EXPECT_EQ(profile.profile.latency_us_mad, 0.25);
  EXPECT_EQ(profile.profile.samples, 15);
  EXPECT_EQ(profile.profile.compute_share, 0.5);
  EXPECT_EQ(times.at("16 channels_last,channels_last").profile.latency_us_median, 3.5);
  EXPECT_EQ(times.at("24 plain,plain").profile.latency_us_median, 4.5);
  EXPECT_EQ(times.at("24 plain,plain").candidate, "fast");
  EXPECT_TRUE(recording->refused.empty()) << RefusedText(*recording);
  // Whichever file has the faster one.
  const auto faster = Read(ConvLine(16), ProfileLine(0, "cudnn/eng1", 7.5),
                           CandidateLine(16, "nchw", 6.5) + CandidateLine(16, "nchw", 7));
  ASSERT_EQ(faster->times.size(), 1u);
  EXPECT_EQ(faster->times[0].candidate, "fast");
  EXPECT_EQ(faster->times[0].profile.latency_us_median, 6.5);
  EXPECT_EQ(faster->times[0].profile.samples, 1);
}

TEST(RecordingTest, NamesLinesThatCannotBeUsedAndGoesOn) {
  const auto recording = Read(
      ConvLine(16) + "{\"family\":\n",
      ProfileLine(0, "a", 5, "NVIDIA H100; driver 1") + ProfileLine(0, "a", 5, "NVIDIA H200X") +
          ProfileLine(0, "a", 5, "NVIDIA H200", "tf32") +
          ProfileLine(0, "a", 5, "NVIDIA H200", "strict", false) + ProfileLine(7, "a", 5) +
          ProfileLine(0, "a", -1) + ProfileLine(0, "a", 5).substr(0, 30) + "\n" +
          "{\"record\":\"done\"}\n" + ProfileLine(0, "b", 6),
      CandidateLine(99, "nchw", 1));
  ASSERT_TRUE(recording.ok()) << recording.status();
  ASSERT_EQ(recording->times.size(), 1u);
  EXPECT_EQ(recording->times[0].candidate, "b");
  std::map<std::string, std::vector<int>> lines;
  for (const RefusedLines& refused : recording->refused) {
    lines[absl::StrCat(refused.file, ": ", refused.reason)] = refused.lines;
  }
  EXPECT_THAT(lines["profiles.jsonl: of another device: \"NVIDIA H100\""], ElementsAre(1));
  EXPECT_THAT(lines["profiles.jsonl: of another device: \"NVIDIA H200X\""], ElementsAre(2));
  EXPECT_THAT(lines["profiles.jsonl: in tf32, which no search on a description runs"],
              ElementsAre(3));
  EXPECT_THAT(lines["profiles.jsonl: with weights in a cache, where they do not lie in a model"],
              ElementsAre(4));
  EXPECT_THAT(lines["profiles.jsonl: no kernel of kernels.jsonl"], ElementsAre(5));
  EXPECT_THAT(lines["profiles.jsonl: no time"], ElementsAre(6));
  EXPECT_THAT(lines["profiles.jsonl: no JSON object: cut off, or damaged"], ElementsAre(7));
  EXPECT_THAT(lines["kernels.jsonl: no JSON object: cut off, or damaged"], ElementsAre(2));
  EXPECT_THAT(lines["candidates.jsonl: a problem of no kernel, or without sizes"], ElementsAre(1));
  EXPECT_THAT(RefusedText(*recording),
              HasSubstr("profiles.jsonl: 1 line (3): in tf32, which no search"));
}

TEST(RecordingTest, RefusesAFolderOfAnotherDevice) {
  EXPECT_THAT(Read(ConvLine(16), "", "", "").status().message(), HasSubstr("device.json"));
  EXPECT_THAT(Read("", "").status().message(), HasSubstr("kernels.jsonl"));
  for (const char* facts : {R"({"device":"cuda","fake":true,"name":"NVIDIA H200"})",
                            R"({"device":"cpu","fake":false,"name":"NVIDIA H200"})",
                            R"({"device":"cuda","fake":false,"name":"NVIDIA H20"})"}) {
    EXPECT_FALSE(Read(ConvLine(16), ProfileLine(0, "a", 5), "", facts).ok()) << facts;
  }
}

// Of the families that were reached; a table that lacks one would look complete.
TEST(RecordingTest, ReadsTheFiledRecording) {
  std::vector<RecordingFile> files;
  for (const char* name : {"device.json", "kernels.jsonl", "profiles.jsonl", "candidates.jsonl"}) {
    std::ifstream file(SourcePath(absl::StrCat(kFiled, name)));
    files.push_back({name, {std::istreambuf_iterator<char>(file), {}}});
    ASSERT_FALSE(files.back().text.empty()) << name;
  }
  const absl::StatusOr<Recording> recording = ReadRecording(files);
  ASSERT_TRUE(recording.ok()) << recording.status();
  EXPECT_EQ(recording->device->name, "h200");
  std::map<std::string, int> recorded;
  for (const RecordedTime& time : recording->times) {
    ++recorded[time.key.family];
    EXPECT_GT(time.profile.latency_us_median, 0);
  }
  const std::map<std::string, int> expected = {
      {"conv", 99}, {"elementwise", 118}, {"matmul", 1}, {"move", 6}, {"pool", 11}};
  EXPECT_EQ(recorded, expected) << RecordingTable(*recording) << RefusedText(*recording);
  int listed = 0;
  for (const auto& [family, count] : recording->kernels) listed += count;
  EXPECT_EQ(listed, 2978);
  for (const auto& [family, count] : recording->kernels) {
    EXPECT_THAT(RecordingTable(*recording), HasSubstr(family));
  }
}

}  // namespace
}  // namespace plait
