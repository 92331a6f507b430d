#include "server/search_child/plans_in_body.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "gpu_worker/backends/catalogs.h"
#include "onnx/onnx_pb.h"
#include "optimizer/ir/text.h"
#include "optimizer/onnx/bind.h"
#include "optimizer/onnx/export.h"
#include "optimizer/onnx/import.h"
#include "optimizer/ops/evaluation/evaluate.h"
#include "optimizer/search/predicted_plan.h"
#include "optimizer/search/segments.h"
#include "tests/loading/planned_model.h"
#include "tests/optimizer/onnx/model_text.h"

namespace plait {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

const std::string kEngine(PlanEngineVersion());

// "y = Relu(x * W)" for x of [2, width], where W is what `constant` makes of w.
std::string ProductBytes(const std::string& constant, int64_t width = 32) {
  const std::string type = absl::StrCat("(float[2, ", width, "] ");
  return GraphBytes(
      17,
      absl::StrCat("g ", type, "x) => ", type, "y) { ", constant,
                   " p = MatMul(x, W) y = Relu(p) }"),
      [&](::onnx::ModelProto* model) {
        const float step = 1.0f / static_cast<float>(width * width);
        *model->mutable_graph()->add_initializer() = FloatTensor("w", {width, width}, -0.5f, step);
      });
}

class PlansInBodyTest : public testing::Test {
 protected:
  // As if a search had found the model's own graph and this plan.
  SearchResult Found(const Model& model) const {
    SearchResult found;
    found.graph = Bind(model, {})->graph;
    const auto catalog = CatalogFor(executor_->device());
    found.plan = PredictedPlan(found.graph, executor_->device(), **catalog, kEngine)->plan;
    found.plan.predicted = false;
    return found;
  }

  // What a rewrite to the other model's graph leaves of weights.
  static std::string BodyOfModel(const std::string& bytes) {
    const Model model = *ImportOnnx(bytes);
    return *ExportOnnx(model, Bind(model, {})->graph, model.weights(), {});
  }

  static BodyPlans In(const Model& model, const SearchResult& found, const std::string& body) {
    absl::StatusOr<BodyPlans> plans = PlansInBody(model, found, body, kEngine);
    EXPECT_TRUE(plans.ok()) << plans.status();
    return *std::move(plans);
  }

  // Loads the body with the plan, and compares what it computes with the model.
  void ExpectRuns(const std::string& original, const std::string& body,
                  const std::vector<EmbeddedPlan>& plans) {
    const Model model = ModelWith(plans, body);
    const PlanChoice choice = ChoosePlan(model, ReadFilePlans(model), {}, *executor_);
    ASSERT_TRUE(choice.loaded.has_value()) << choice.explanation;
    EXPECT_EQ(choice.grade, PlanGrade::kExact);
    const Model source = *ImportOnnx(original);
    const Graph graph = Bind(source, {})->graph;
    const TensorType& type = graph.type(graph.inputs()[0]);
    const Tensor ones = Floats(type.shape, std::vector<float>(type.elements(), 1));
    const auto expected = EvaluateGraph(graph, {ones}, source.weights());
    ASSERT_TRUE(expected.ok()) << expected.status();
    const std::vector<double> values = expected->front().AsDoubles();
    const std::vector<float> got = RunOnOnes(*choice.loaded);
    ASSERT_EQ(got.size(), values.size());
    for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], values[i], 1e-4) << i;
  }

  std::unique_ptr<Executor> executor_ = OpenCpu(1);
};

TEST_F(PlansInBodyTest, AConstantThatTheBodyHasComputedIsItsWeight) {
  const std::string original = ProductBytes("W = Neg(w)");
  const Model model = *ImportOnnx(original);
  const SearchResult found = Found(model);
  ASSERT_THAT(PrintGraph(found.graph), HasSubstr("Neg("));
  const std::string body = BodyOfModel(original);
  const BodyPlans written = In(model, found, body);
  EXPECT_THAT(written.missing, IsEmpty());
  ASSERT_THAT(written.plans, SizeIs(1));
  EXPECT_THAT(written.plans[0].graph, Not(HasSubstr("Neg(")));
  ExpectRuns(original, body, written.plans);
}

TEST_F(PlansInBodyTest, OthersAreExpressionsOverItsWeights) {
  const std::string original = ProductBytes("a = Neg(w) W = Abs(a)");
  const Model model = *ImportOnnx(original);
  const std::string body = BodyOfModel(ProductBytes("W = Neg(w)"));
  const BodyPlans written = In(model, Found(model), body);
  EXPECT_THAT(written.missing, IsEmpty());
  ASSERT_THAT(written.plans, SizeIs(1));
  EXPECT_THAT(written.plans[0].graph, HasSubstr("Abs("));
  EXPECT_THAT(written.plans[0].graph, Not(HasSubstr("Neg(")));
  EXPECT_THAT(written.plans[0].graph, Not(HasSubstr("raw")));
  ExpectRuns(original, body, written.plans);
}

TEST_F(PlansInBodyTest, WeightsThatItLacksStandInTheGraphsText) {
  const std::string original = ProductBytes("a = Neg(w) W = Abs(a)");
  const Model model = *ImportOnnx(original);
  const std::string body = BodyOfModel(ProductBytes("a = Neg(w) W = Sub(a, w)"));
  const BodyPlans written = In(model, Found(model), body);
  EXPECT_THAT(written.missing, IsEmpty());
  ASSERT_THAT(written.plans, SizeIs(1));
  EXPECT_THAT(written.plans[0].graph, HasSubstr("raw"));
  ExpectRuns(original, body, written.plans);
}

TEST_F(PlansInBodyTest, MoreOfThemThanAPlanMayTakeIsSaid) {
  const Model model = *ImportOnnx(ProductBytes("W = Abs(w)", 512));
  const std::string body = BodyOfModel(ProductBytes("W = Neg(w)", 512));
  const BodyPlans written = In(model, Found(model), body);
  EXPECT_THAT(written.plans, IsEmpty());
  ASSERT_THAT(written.missing, SizeIs(1));
  EXPECT_THAT(written.missing[0], HasSubstr("lacks weights that the plan reads"));
}

TEST_F(PlansInBodyTest, APlanForOtherInputsIsMissing) {
  const Model model = *ImportOnnx(ProductBytes("W = Neg(w)"));
  const BodyPlans written = In(model, Found(model), BodyOfModel(ProductBytes("W = Neg(w)", 16)));
  EXPECT_THAT(written.plans, IsEmpty());
  ASSERT_THAT(written.missing, SizeIs(1));
  EXPECT_THAT(written.missing[0], HasSubstr("inputs and outputs"));
}

TEST_F(PlansInBodyTest, ThePlanOfABodyThatWasEditedIsNotRun) {
  const std::string original = ProductBytes("W = Neg(w)");
  const Model model = *ImportOnnx(original);
  const std::string body = BodyOfModel(original);
  const BodyPlans written = In(model, Found(model), body);
  ::onnx::ModelProto edited;
  ASSERT_TRUE(edited.ParseFromString(body));
  edited.mutable_graph()->mutable_node(1)->set_op_type("Tanh");
  const Model changed = ModelWith(written.plans, edited.SerializeAsString());
  const PlanChoice choice = ChoosePlan(changed, ReadFilePlans(changed), {}, *executor_);
  EXPECT_FALSE(choice.loaded.has_value());
  EXPECT_EQ(choice.reason, PlanReason::kOtherModel);
}

// Around a node that plait lacks.
TEST_F(PlansInBodyTest, PlansOfIslandsGoWithTheIslandsOfTheBody) {
  const auto bytes = [](const std::string& constant) {
    return GraphBytes(
        17,
        absl::StrCat("g (float[2, 32] x) => (float[2, 32] y) { ", constant,
                     " p = MatMul(x, W) y = custom.Unknown(p) }"),
        [](::onnx::ModelProto* model) {
          model->add_opset_import()->set_domain("custom");
          model->mutable_opset_import(1)->set_version(1);
          *model->mutable_graph()->add_initializer() = FloatTensor("w", {32, 32}, -0.5f, 0.001f);
        });
  };
  const Model model = *ImportOnnx(bytes("W = Neg(w)"));
  SearchResult found;
  found.graph = Bind(model, {})->graph;
  const auto catalog = CatalogFor(executor_->device());
  for (const Graph& island : IslandsOf(found.graph)) {
    const Plan plan = PredictedPlan(island, executor_->device(), **catalog, kEngine)->plan;
    found.islands.push_back({island, plan, island, plan});
  }
  ASSERT_THAT(found.islands, SizeIs(1));
  const std::string body = BodyOfModel(bytes("a = Neg(w) W = Identity(a)"));
  const BodyPlans written = In(model, found, body);
  EXPECT_THAT(written.missing, IsEmpty());
  ASSERT_THAT(written.plans, SizeIs(1));
  const Graph whole = Bind(*ImportOnnx(body), {})->graph;
  EXPECT_EQ(written.plans[0].original, IslandsOf(whole)[0].fingerprint().ToString());
}

}  // namespace
}  // namespace plait
