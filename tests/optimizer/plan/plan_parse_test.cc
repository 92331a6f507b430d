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
        ASSERT_EQ(plan.status().code(), absl::StatusCode::kInvalidArgument) << changed;
      }
    }
  }
}

TEST(ParsePlanTest, RefusesNumbersOutOfRange) {
  const std::string text = PrintPlan(SamplePlan(SampleGraph()));
  const std::vector<std::pair<const char*, const char*>> changes = {
      {"plan 3 {", "plan 4 {"},
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
