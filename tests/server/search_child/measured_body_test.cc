#include "server/search_child/measured_body.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "gpu_worker/backends/catalogs.h"
#include "optimizer/normal_form/canonicalize.h"
#include "optimizer/onnx/import.h"
#include "optimizer/search/predicted_plan.h"
#include "tests/optimizer/onnx/model_text.h"
#include "tests/server/search_child/runtime_answer.h"

namespace plait {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// x of [rows, width] by what `constant` makes of w, and then `last`, which makes y of p.
std::string ModelOf(int64_t width, const std::string& constant, const std::string& last,
                    const std::string& rows = "2") {
  const std::string type = absl::StrCat("(float[", rows, ", ", width, "] ");
  return GraphBytes(
      17,
      absl::StrCat("g ", type, "x) => ", type, "y) { ", constant, " p = MatMul(x, v) ", last, " }"),
      [&](::onnx::ModelProto* model) {
        *model->mutable_graph()->add_initializer() = FloatTensor("w", {width, width}, 0.5f, 1e-6f);
      });
}

// A job whose search found another graph than the portable one, and a log that says which body its
// only other runtime likes.
class MeasuredBodyTest : public testing::Test {
 protected:
  void SetUp() override {
    start_.mutable_options()->set_body("auto");
    start_.mutable_options()->add_runtimes("onnxruntime");
    device_.fingerprint = "cpu;test";
  }

  // Of as many models as there are times, each in milliseconds; and whether there was time for
  // more than one.
  void AddAnswer(const std::vector<double>& ms, int loads, bool had_time = true) {
    replayed_.AddTimeAnswer(had_time);
    replayed_.AddRuntimeMeasurement(AnswerOf("onnxruntime", ms, loads));
  }

  // Weights are folded in the portable graph, the found one reads them as they came.
  MeasuredBody Measure(int64_t width, Body body = Body::kOriginal, const std::string& rows = "2") {
    const std::string bytes = ModelOf(width, "v = Neg(w)", "q = Relu(p) y = Relu(q)", rows);
    const Model model = *ImportOnnx(bytes);
    const Bound bound = *Bind(model, {{"x", {2, width}}});
    RuleCounts counts;
    portable_ = *Canonicalize(bound.graph, PortableRules(), &counts);
    EXPECT_EQ(portable_.node_count(), 2);
    SearchResult found;
    found.improved = true;
    found.graph = Bind(*ImportOnnx(ModelOf(width, "v = Abs(w)", "y = Relu(p)")), {})->graph;
    const auto catalog = CatalogFor(device_);
    found.plan = PredictedPlan(found.graph, device_, **catalog, "test")->plan;
    found.baseline_latency_us = {1000};
    warnings_.clear();
    ChildConnection connection(-1);
    ReplayingBudget budget(replayed_);
    MeasurementLog log;
    log.set_load_effect({0.003, 20});
    JobRuntimes runtimes(
        start_, bound.graph,
        {connection, SystemClock(), absl::ZeroDuration(), &replayed_, budget, log});
    absl::StatusOr<MeasuredBody> measured =
        MeasureBodies({start_, bytes, model, bound, found, body, false}, runtimes, warnings_);
    EXPECT_TRUE(measured.ok()) << measured.status();
    return measured.ok() ? *std::move(measured) : MeasuredBody();
  }

  internal::Start start_;
  DeviceDescription device_ = {.id = "cpu", .backend = "cpu", .instruction_set = "avx2"};
  MeasurementLog replayed_;
  Graph portable_;
  std::vector<std::string> warnings_;
};

TEST_F(MeasuredBodyTest, AnotherGraphThanThePlansIsReturnedWhereItIsFaster) {
  for (const bool is_plait_named : {false, true}) {
    if (is_plait_named) start_.mutable_options()->add_runtimes("plait");
    replayed_ = MeasurementLog();
    AddAnswer({1, 1.1, 0.8}, 3);
    const MeasuredBody measured = Measure(32);
    EXPECT_EQ(measured.body, Body::kPortable);
    ASSERT_TRUE(measured.other_graph.has_value());
    EXPECT_EQ(measured.other_graph->fingerprint(), portable_.fingerprint());
    EXPECT_THAT(warnings_, IsEmpty());
  }
}

// They would be written for nothing.
TEST_F(MeasuredBodyTest, WithoutTimeToCompareRewrittenGraphsAreNotMade) {
  AddAnswer({1}, 1, /*had_time=*/false);
  const MeasuredBody measured = Measure(32);
  EXPECT_EQ(measured.body, Body::kOriginal);
  ASSERT_EQ(measured.decisions.size(), 1u);
  EXPECT_THAT(measured.decisions[0].note, HasSubstr("no time to compare"));
  EXPECT_FALSE(measured.decisions[0].original.latency_us.empty());
}

TEST_F(MeasuredBodyTest, WithPlaitAGraphThatThePlanCannotGoWithIsNotOffered) {
  start_.mutable_options()->add_runtimes("plait");
  AddAnswer({1, 0.8}, 3);  // of the plan's own graph
  const MeasuredBody measured = Measure(512);
  EXPECT_NE(measured.body, Body::kOriginal);
  EXPECT_FALSE(measured.other_graph.has_value());
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("was not measured in other runtimes")));
}

TEST_F(MeasuredBodyTest, WithoutPlaitItIs) {
  AddAnswer({1, 1.1, 0.8}, 3);
  EXPECT_TRUE(Measure(512).other_graph.has_value());
  EXPECT_THAT(warnings_, IsEmpty());
}

// A rewritten graph has the shapes that it was bound to.
TEST_F(MeasuredBodyTest, ABatchThatNobodyGaveStaysOpen) {
  AddAnswer({1}, 3);
  const MeasuredBody measured = Measure(512, Body::kOriginal, "batch");
  EXPECT_EQ(measured.body, Body::kOriginal);
  EXPECT_FALSE(measured.other_graph.has_value());
  ASSERT_EQ(measured.decisions.size(), 1u);
  EXPECT_EQ(measured.decisions[0].note, "") << "there was nothing else to measure";
}

TEST_F(MeasuredBodyTest, OneThatTheJobGivesMayBeFixed) {
  v1::Shape& given = (*start_.mutable_options()->mutable_shapes())["x"];
  given.add_dims(2);
  given.add_dims(512);
  AddAnswer({1, 1.1, 0.8}, 3);
  EXPECT_TRUE(Measure(512, Body::kOriginal, "batch").other_graph.has_value());
}

TEST_F(MeasuredBodyTest, WhoAsksForABodyIsWarnedWhereItIsSlower) {
  start_.mutable_options()->set_body("searched");
  for (const double ms : {1.2, 0.8}) {
    replayed_ = MeasurementLog();
    AddAnswer({1, ms}, 3);
    EXPECT_EQ(Measure(32, Body::kSearched).body, Body::kSearched);
    if (ms < 1) {
      EXPECT_THAT(warnings_, IsEmpty());
    } else {
      EXPECT_THAT(warnings_, ElementsAre(HasSubstr("slower in onnxruntime than the original")));
    }
  }
}

}  // namespace
}  // namespace plait
