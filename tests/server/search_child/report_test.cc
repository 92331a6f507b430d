#include "server/search_child/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/limits.h"
#include "optimizer/onnx/opaque_node.h"
#include "optimizer/ops/shared/op_spec.h"

namespace plait {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

v1::Report ReportOf(const SearchResult& result) {
  const Graph graph;
  return MakeReport(internal::Start(), {graph, {}, {}}, result);
}

TEST(ReportTest, SaysNothingMoreOfOutputsThatAgree) {
  SearchResult result;
  result.equivalence.verdict = Verdict::kEquivalent;
  EXPECT_EQ(ReportOf(result).equivalence().verdict(), v1::VERDICT_EQUIVALENT);
  EXPECT_THAT(ReportOf(result).warnings(), IsEmpty());
}

TEST(ReportTest, WarnsWhereTheOriginalIsReturnedBecauseOutputsProveLittle) {
  SearchResult result;
  result.equivalence = {.verdict = Verdict::kInconclusive, .inputs_tried = 3, .dead_outputs = true};
  EXPECT_EQ(ReportOf(result).equivalence().verdict(), v1::VERDICT_INCONCLUSIVE);
  EXPECT_THAT(ReportOf(result).warnings(),
              ElementsAre(testing::AllOf(HasSubstr("an output has one value everywhere"),
                                         HasSubstr("--accept-inconclusive"))));
}

TEST(ReportTest, WarnsWhereOutputsThatProveLittleWereAccepted) {
  SearchResult result;
  result.equivalence = {.verdict = Verdict::kInconclusive, .inputs_tried = 3, .dead_outputs = true};
  result.improved = true;
  EXPECT_THAT(ReportOf(result).warnings(), ElementsAre(HasSubstr("was accepted")));
}

// What was said of the parts is said of the whole; the search child's warning tells the difference.
TEST(ReportTest, AddsUpTheIslandsOfAModelWithOpaqueNodes) {
  SearchResult result;
  result.equivalence.verdict = Verdict::kEquivalent;
  PlannedIsland island;
  island.graph = *ParseTypedGraph("graph {\n input %x: float32[8]\n %y = Relu(%x)\n output %y\n}");
  island.original = island.graph;
  island.plan.values = {{0}, {1}};
  island.plan.steps = {{}};
  island.plan.steps[0].kernel.nodes = {0};
  island.plan.steps[0].inputs = {0};
  island.plan.steps[0].outputs = {1};
  island.plan.arena_bytes = 100;
  island.baseline_plan = island.plan;
  result.islands = {island, island};
  const v1::Report report = ReportOf(result);
  EXPECT_EQ(report.equivalence().verdict(), v1::VERDICT_EQUIVALENT);
  EXPECT_EQ(report.baseline().kernels(), 2);
  EXPECT_EQ(report.optimized().kernels(), 2);
  EXPECT_EQ(report.optimized().offchip_bytes(), 2 * 2 * 32);
  EXPECT_EQ(report.optimized().formats().at("plain"), 1);
  const v1::Plan plan = MakePlanMessage(result);
  EXPECT_EQ(plan.summary().kernels(), 2);
  EXPECT_EQ(plan.summary().arena_bytes(), 200);
  EXPECT_EQ(plan.text(), PrintPlan(island.plan) + PrintPlan(island.plan));
}

TEST(ReportTest, ASummaryHasNoLatencyWhereNothingIsMeasured) {
  SearchResult result;
  result.predicted_us = 50;
  EXPECT_EQ(MakePlanMessage(result).summary().latency_us_predicted(), 50);
  result.plan.predicted = true;
  EXPECT_EQ(MakePlanMessage(result).summary().latency_us_predicted(), 0);
}

TEST(ReportTest, TellsWhichNodesRunInAnotherRuntime) {
  onnx::NodeProto proto;
  proto.op_type = "Frobnicate";
  proto.domain = "com.example";
  proto.input = {"x"};
  proto.output = {"a"};
  GraphBuilder builder;
  const TensorType type{DataType::kFloat32, {2}};
  TensorId tensor = builder.AddInput(type, "x");
  for (const std::string name : {"a", "b", "c"}) {
    Node node = *MakeOpaqueNode(proto);
    if (name == "b") node = {.op = OpKind::kRelu};
    node.inputs = {tensor};
    tensor = builder.AddNode(std::move(node), {type}, {name})[0];
  }
  builder.AddOutput(tensor);
  const Graph graph = *std::move(builder).Finish();
  const std::vector<OpaqueNode> opaque = {
      {"Frobnicate of 'a'", "Frobnicate", "com.example", "operator of domain 'com.example'"}};
  const v1::ModelReport model =
      MakeReport(internal::Start(), {graph, opaque, {}}, SearchResult()).model();
  ASSERT_EQ(model.host_segments_size(), 2);
  EXPECT_THAT(model.host_segments(0).operators(), ElementsAre("com.example.Frobnicate"));
  EXPECT_EQ(model.host_segments(0).nodes(), 1);
  EXPECT_EQ(model.host_segments(0).reason(), "operator of domain 'com.example'");
  EXPECT_EQ(model.host_segments(1).reason(), "");
}

TEST(ReportTest, StaysSmallWhateverOpaqueNodesAreCalled) {
  GraphBuilder builder;
  builder.AddOutput(builder.AddInput({DataType::kFloat32, {2}}, "x"));
  const Graph graph = *std::move(builder).Finish();
  const std::vector<OpaqueNode> opaque(1500, {std::string(1 << 20, 'x'), "Frobnicate", "", ""});
  const v1::Report report = MakeReport(internal::Start(), {graph, opaque, {}}, SearchResult());
  EXPECT_EQ(report.model().opaque_nodes_size(), 1000);
  EXPECT_LT(report.ByteSizeLong(), size_t{1} << 20);
  EXPECT_THAT(report.warnings(), Contains("the report names 1000 of 1500 opaque nodes"));
}

TEST(ReportTest, StaysSmallWhateverItWarnsOf) {
  GraphBuilder builder;
  builder.AddOutput(builder.AddInput({DataType::kFloat32, {2}}, "x"));
  const Graph graph = *std::move(builder).Finish();
  const std::vector<std::string> warnings(40'000, std::string(1 << 14, 'w'));
  const v1::Report report =
      MakeReport(internal::Start(), {.graph = graph, .warnings = warnings}, SearchResult());
  EXPECT_LT(report.ByteSizeLong(), size_t{1} << 20);
  EXPECT_THAT(report.warnings(), Contains("the report tells 64 of 40000 warnings about the model"));
}

// A step of one kernel over these nodes, with this format at its first input.
Step StepOf(std::vector<NodeId> nodes, Format format, std::vector<int> outputs) {
  Step step;
  step.kernel.nodes = std::move(nodes);
  step.kernel.input_formats = {format};
  step.outputs = std::move(outputs);
  return step;
}

TEST(ReportTest, TellsInWhichFormatsFlopsAreDoneAndWhatOnlyCopies) {
  SearchResult result;
  result.graph = *ParseTypedGraph(R"(graph {
  input %x: float32[2,8]
  %t = Transpose(%x) {perm=[1,0]}
  %a = Relu(%t)
  %c = Cast(%a) {to=11}
  %m = MatMul(%x, %a)
  const %shape: int64[1] = [4]
  %y = Reshape(%m, %shape)
  output %y, %c
})");
  result.plan.values = {{0}, {1}, {2}, {3}, {4}, {5, Format::kPlain, {}, 4}};
  result.plan.steps = {StepOf({0}, Format::kPlain, {1}), StepOf({1}, Format::kChannelsLast, {2}),
                       StepOf({}, Format::kPlain, {2}),  StepOf({2}, Format::kPlain, {3}),
                       StepOf({3}, Format::kPlain, {4}), StepOf({4}, Format::kPlain, {5})};
  const v1::OptimizedReport report = ReportOf(result).optimized();
  EXPECT_EQ(report.kernels(), 6);
  // The transposition, the reorder and the cast; the view is its input's bytes.
  EXPECT_EQ(report.copies(), 3);
  // 16 comparisons beside 2 x 2 x 8 multiply-adds.
  ASSERT_EQ(report.formats_size(), 2) << report.ShortDebugString();
  EXPECT_EQ(report.formats().at("channels_last"), 16.0 / 80);
  EXPECT_EQ(report.formats().at("plain"), 64.0 / 80);
}

TEST(ReportTest, NamesTheOutputsOfTheGraphInItsOrder) {
  const Graph graph = *ParseTypedGraph(R"(graph {
  input %x: float32[2]
  %y = Relu(%x)
  %"z\xff" = Abs(%x)
  output %"z\xff", %y
})");
  SearchResult result;
  result.baseline_load_ms = 5;
  result.load_ms = 7;
  // One more than there are, as a worker may lie.
  result.equivalence.outputs = {{1, 2, 3}, {4, 5, 6, 7}, {7, 8, 9}};
  const v1::Report report = MakeReport(internal::Start(), {graph, {}, {}}, result);
  EXPECT_EQ(report.baseline().load_ms(), 5);
  EXPECT_EQ(report.optimized().load_ms(), 7);
  ASSERT_EQ(report.equivalence().outputs_size(), 2);
  EXPECT_EQ(report.equivalence().outputs(0).name(), "z?");
  EXPECT_EQ(report.equivalence().outputs(1).name(), "y");
  EXPECT_EQ(report.equivalence().outputs(1).max_abs_error(), 4);
  EXPECT_EQ(report.equivalence().outputs(1).max_rel_error(), 5);
  EXPECT_EQ(report.equivalence().outputs(1).rms_error(), 6);
  EXPECT_EQ(report.equivalence().outputs(1).max_channel_error(), 7);
}

TEST(ReportTest, TellsWhatWasTriedInVain) {
  SearchResult result;
  result.refused = {{.reason = RefusalReason::kDifferent,
                     .error = 3e-4,
                     .limit = 1e-4,
                     .place = "z\xff",
                     .predicted_us = 60,
                     .predicted_speedup = 2,
                     .latency_us = 70,
                     .speedup = 1.5,
                     .speedup_certain = 1.25}};
  result.refused.resize(1000);
  const v1::Report report = ReportOf(result);
  ASSERT_EQ(report.refused_size(), kRefusalsMax);
  const v1::Refusal& refusal = report.refused(0);
  EXPECT_EQ(refusal.reason(), v1::REFUSAL_REASON_DIFFERENT);
  EXPECT_EQ(refusal.place(), "z?");
  EXPECT_EQ(refusal.error(), 3e-4);
  EXPECT_EQ(refusal.limit(), 1e-4);
  EXPECT_EQ(refusal.predicted_us(), 60);
  EXPECT_EQ(refusal.speedup_predicted(), 2);
  EXPECT_EQ(refusal.latency_us_median(), 70);
  EXPECT_EQ(refusal.speedup(), 1.5);
  EXPECT_EQ(refusal.speedup_certain(), 1.25);
  EXPECT_EQ(report.refused(1).reason(), v1::REFUSAL_REASON_FAILED);
}

TEST(ReportTest, TellsWherePredictionsLieWithOtherConstants) {
  SearchResult result;
  result.predicted_baseline_us = 100;
  result.predicted_us = 50;
  EXPECT_FALSE(ReportOf(result).baseline().has_predicted_us_low());
  EXPECT_FALSE(ReportOf(result).optimized().has_predicted_us_high());
  result.baseline_draws_us = {130, 80};
  result.optimized_draws_us = {45, 60};
  const v1::Report report = ReportOf(result);
  EXPECT_EQ(report.baseline().predicted_us_low(), 80);
  EXPECT_EQ(report.baseline().predicted_us_high(), 130);
  EXPECT_EQ(report.optimized().predicted_us(), 50);
  EXPECT_EQ(report.optimized().predicted_us_low(), 45);
  EXPECT_EQ(report.optimized().predicted_us_high(), 60);
}

TEST(ReportTest, TellsWhatWasPredictedOfEachPlanThatRan) {
  SearchResult result;
  result.plan_times = {{.candidate = 3,
                        .predicted_us = 60,
                        .predicted_speedup = 2,
                        .latency_us = 70,
                        .speedup = 1.5,
                        .won = true}};
  result.plan_times.resize(1000);
  const v1::Report report = ReportOf(result);
  ASSERT_EQ(report.search().plan_times_size(), 256);
  const v1::PlanTimes& times = report.search().plan_times(0);
  EXPECT_EQ(times.predicted_us(), 60);
  EXPECT_EQ(times.speedup_predicted(), 2);
  EXPECT_EQ(times.latency_us_median(), 70);
  EXPECT_EQ(times.speedup(), 1.5);
  EXPECT_TRUE(times.won());
  EXPECT_FALSE(report.search().plan_times(1).won());
}

}  // namespace
}  // namespace plait
