#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "optimizer/plan/plan.h"
#include "tests/optimizer/plan/sample_plan.h"

namespace plait {
namespace {

using testing::StartsWith;

TEST(ParsePlanTest, RoundTrips) {
  const Graph graph = SampleGraph();
  for (const Plan& plan : {SamplePlan(graph), ReorderingPlan(graph), Plan()}) {
    const std::string text = PrintPlan(plan);
    const absl::StatusOr<Plan> parsed = ParsePlan(text);
    ASSERT_TRUE(parsed.ok()) << parsed.status() << "\n" << text;
    EXPECT_EQ(*parsed, plan);
    EXPECT_EQ(PrintPlan(*parsed), text);
  }
}

TEST(ParsePlanTest, SurvivesTruncationAtEveryByte) {
  const std::string text = PrintPlan(ReorderingPlan(SampleGraph()));
  for (size_t size = 0; size < text.size(); ++size) {
    const absl::Status status = ParsePlan(text.substr(0, size)).status();
    // Only the last line break may be missing.
    if (size + 1 == text.size()) continue;
    ASSERT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << size;
    ASSERT_THAT(std::string(status.message()), StartsWith("plan: line ")) << size;
  }
}

TEST(ParsePlanTest, SurvivesEveryByteReplacedAndTheCheckCatchesWhatParses) {
  const Graph graph = SampleGraph();
  const std::string text = PrintPlan(ReorderingPlan(graph));
  for (size_t i = 0; i < text.size(); ++i) {
    for (const char byte : {'0', '1', '9', '-', '[', ',', ' ', '\n', '\0', '"'}) {
      std::string changed = text;
      changed[i] = byte;
      const absl::StatusOr<Plan> plan = ParsePlan(changed);
      if (plan.ok()) {
        CheckPlan(*plan, graph).IgnoreError();
      } else {
        ASSERT_TRUE(absl::IsInvalidArgument(plan.status()) || absl::IsUnimplemented(plan.status()))
            << changed;
      }
    }
  }
}

// As programs of before wrote it.
constexpr absl::string_view kVersion3 = R"(plan 3 {
  graph "a graph"
  device "cpu;_name;_make;_avx2;_threads=2"
  engine "plait-0.1.0"
  precision "strict"
  threads 2
  streams 1
  arena 64
  value tensor=0 format=plain offset=0 size=0
  value tensor=1 format=plain offset=0 size=64
  step stream=0 width=2 family="elementwise" variant="" nodes=[0] waits=[] inputs=[0] )"
                                        R"(input_formats=[plain] outputs=[1] output_formats=[plain]
}
)";

TEST(ParsePlanTest, ReadsTheVersionBefore) {
  const absl::StatusOr<Plan> plan = ParsePlan(kVersion3);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_FALSE(plan->predicted);
  EXPECT_EQ(plan->threads, 2);
  EXPECT_EQ(plan->values.size(), 2u);
  ASSERT_EQ(plan->steps.size(), 1u);
  EXPECT_EQ(plan->steps[0].kernel.family, "elementwise");
  // What is written is of the version of today, and says the same.
  EXPECT_EQ(*ParsePlan(PrintPlan(*plan)), *plan);
}

TEST(ParsePlanTest, RefusesOtherVersions) {
  const std::string text = PrintPlan(SamplePlan(SampleGraph()));
  for (const int version : {0, Plan::kVersionMin - 1, Plan::kVersion + 1}) {
    const absl::Status status =
        ParsePlan(absl::StrReplaceAll(text, {{"plan 4 {", absl::StrCat("plan ", version, " {")}}))
            .status();
    EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
    EXPECT_THAT(std::string(status.message()), testing::HasSubstr("versions 3 and 4"));
  }
}

TEST(ParsePlanTest, ReadsTheHeaderAlone) {
  Plan plan = SamplePlan(SampleGraph());
  plan.predicted = true;
  std::string text = PrintPlan(plan);
  const size_t values = text.find("  value");
  text.replace(values, text.size() - values, "what follows is not read");
  const absl::StatusOr<Plan> header = ParsePlanHeader(text);
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_TRUE(header->predicted);
  EXPECT_EQ(header->device_fingerprint, plan.device_fingerprint);
  EXPECT_EQ(header->threads, plan.threads);
  EXPECT_TRUE(header->steps.empty());
  EXPECT_FALSE(ParsePlan(text).ok());
}

TEST(ParsePlanTest, RefusesNumbersOutOfRange) {
  const std::string text = PrintPlan(SamplePlan(SampleGraph()));
  const std::vector<std::pair<const char*, const char*>> changes = {
      {"predicted 0", "predicted 2"},
      {"threads 2", "threads 0"},
      {"threads 2", "threads 99999"},
      {"streams 2", "streams 0"},
      {"streams 2", "streams 99999"},
      {"arena 3072", "arena -1"},
      {"arena 3072", "arena 9223372036854775807"},
      {"stream=1", "stream=2"},
      {"stream=1", "stream=-1"},
      {"width=1", "width=3"},
      {"waits=[0]", "waits=[2]"},
      {"waits=[0]", "waits=[-1]"},
      {"waits=[0]", "waits=[99999999999999999999]"},
      {"inputs=[2,3]", "inputs=[2,7]"},
      {"inputs=[2,3]", "inputs=[2 3]"},
      {"outputs=[6]", "outputs=[-1]"},
      {"nodes=[5]", "nodes=[2000000]"},
      {"offset=2048", "offset=4096"},
      {"offset=2048", "offset=2112"},
      {"size=1024", "size=-1"},
      {"alias=4", "alias=5"},
      {"alias=4", "alias=-1"},
      {"format=plain", "format=blocked"},
      {"tensor=0", "tensor=4294967296"},
  };
  for (const auto& [from, to] : changes) {
    const std::string changed = absl::StrReplaceAll(text, {{from, to}});
    ASSERT_NE(changed, text) << from;
    EXPECT_EQ(ParsePlan(changed).status().code(), absl::StatusCode::kInvalidArgument) << to;
  }
}

}  // namespace
}  // namespace plait
