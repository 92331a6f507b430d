#include "server/search_child/made_result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "gpu_worker/backends/catalogs.h"
#include "optimizer/onnx/import.h"
#include "optimizer/search/predicted_plan.h"
#include "proto/wire/names.h"
#include "tests/optimizer/onnx/model_text.h"
#include "tests/server/search_child/runtime_answer.h"

namespace plait {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A job whose search found one island, which is the whole model to keep the test short, and a log
// that says what the session and the only other runtime need.
class MadeResultTest : public testing::Test {
 protected:
  // With a session that needs 1 ms for the original, and so long for the file.
  MadeResult Make(double file_ms) {
    replayed_ = MeasurementLog();
    replayed_.AddRuntimeMeasurement(AnswerOf("onnxruntime", {1}, 3));
    replayed_.AddRuntimeMeasurement(AnswerOf(wire::kSessionRuntime, {1, file_ms}, 3, verdict_));
    bytes_ = GraphBytes(17, "g (float[2, 8] x) => (float[2, 8] y) { p = Neg(x) y = Relu(p) }");
    const Model model = *ImportOnnx(bytes_);
    const Bound bound = *Bind(model, {});
    const DeviceDescription device = {
        .id = "cpu", .backend = "cpu", .fingerprint = "cpu;test", .instruction_set = "avx2"};
    const auto catalog = CatalogFor(device);
    SearchResult found;
    found.graph = bound.graph;
    PlannedIsland& island = found.islands.emplace_back();
    island.original = island.graph = bound.graph;
    island.plan = PredictedPlan(bound.graph, device, **catalog, "test")->plan;
    found.baseline_latency_us = {1000};
    internal::Start start;
    start.mutable_options()->set_body("original");
    ChildConnection connection(-1);
    MeasurementLog log;
    log.set_load_effect({0.003, 20});
    ReplayingBudget budget(replayed_);
    warnings_.clear();
    absl::StatusOr<MadeResult> made = MakeResult(
        {start, bytes_, model, bound, found, Body::kOriginal, false}, {}, {},
        {connection, SystemClock(), absl::ZeroDuration(), &replayed_, budget, log}, warnings_);
    EXPECT_TRUE(made.ok()) << made.status();
    return made.ok() ? *std::move(made) : MadeResult();
  }

  std::string bytes_;
  Verdict verdict_ = Verdict::kEquivalent;
  MeasurementLog replayed_;
  std::vector<std::string> warnings_;
};

TEST_F(MadeResultTest, PlansOfPartsStayWhereTheWholeIsFaster) {
  const MadeResult made = Make(0.8);
  EXPECT_THAT(made.file.parts.appended, HasSubstr("plait"));
  ASSERT_TRUE(made.whole.has_value());
  EXPECT_NEAR(made.whole->speedup.median, 1.25, 1e-9);
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(MadeResultTest, PlansOfPartsThatMakeTheWholeSlowerAreLeftOut) {
  const MadeResult made = Make(1.25);
  EXPECT_THAT(made.file.parts.kept, ElementsAre(bytes_));
  EXPECT_EQ(made.file.parts.appended, "");
  ASSERT_TRUE(made.whole.has_value());
  EXPECT_EQ(made.whole->speedup.median, 1) << "the original is what is returned";
  EXPECT_EQ(made.whole->model.latency_us, made.whole->original.latency_us);
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("left out: with them the whole ran at 0.8")));
}

TEST_F(MadeResultTest, OutputsOfTheWholeThatDifferAreTold) {
  verdict_ = Verdict::kDifferent;
  const MadeResult made = Make(0.8);
  ASSERT_TRUE(made.whole.has_value());
  EXPECT_NE(made.whole->note, "");
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("outputs of the whole model")));
}

}  // namespace
}  // namespace plait
