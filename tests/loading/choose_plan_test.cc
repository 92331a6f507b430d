#include "loading/choose_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_replace.h"
#include "base/random.h"
#include "gpu_worker/backends/catalogs.h"
#include "loading/default_plan.h"
#include "loading/substitute_variants.h"
#include "onnx/onnx_pb.h"
#include "optimizer/onnx/import.h"
#include "optimizer/ops/shared/op_spec.h"
#include "tests/fuzz/mutate_text.h"
#include "tests/loading/planned_model.h"
#include "tests/optimizer/onnx/model_text.h"

namespace plait {
namespace {

using testing::HasSubstr;

class ChoosePlanTest : public testing::Test {
 protected:
  PlanChoice Choose(const std::vector<EmbeddedPlan>& plans, const Bindings& shapes = {}) {
    const Model model = ModelWith(plans);
    return ChoosePlan(model, ReadFilePlans(model), shapes, *executor_);
  }
  const DeviceDescription& device() const { return executor_->device(); }

  EmbeddedPlan MadeOn(int64_t rows, const std::string& fingerprint) const {
    return PlanOfRows(rows, device(), [&](Plan* plan) { plan->device_fingerprint = fingerprint; });
  }
  std::string OtherProcessor() const {
    return absl::StrReplaceAll(device().fingerprint, {{"cpu;_", "cpu;_Other_"}});
  }

  const std::unique_ptr<Executor> executor_ = OpenCpu(1);
};

TEST_F(ChoosePlanTest, UsesAPlanOfThisDevice) {
  const PlanChoice choice = Choose({PlanOfRows(2, device())});
  ASSERT_TRUE(choice.loaded.has_value()) << choice.explanation;
  EXPECT_EQ(choice.grade, PlanGrade::kExact);
  EXPECT_EQ(choice.reason, PlanReason::kFits);
  EXPECT_EQ(choice.explanation, "the plan in the model is used");
  EXPECT_EQ(RunOnOnes(*choice.loaded)[0], 224.0f);
}

// By a tool that keeps the metadata: what the plan computes is what the model was.
TEST_F(ChoosePlanTest, IgnoresAPlanOfAModelThatWasChanged) {
  const std::vector<EmbeddedPlan> plans = {PlanOfRows(2, device())};
  std::string bytes = OpenModel();
  ::onnx::ModelProto changed;
  ASSERT_TRUE(changed.ParseFromString(bytes));
  changed.mutable_graph()->mutable_node(1)->set_op_type("Neg");
  for (const auto& [key, value] : MetadataOf(plans)) {
    auto* const entry = changed.add_metadata_props();
    entry->set_key(key);
    entry->set_value(value);
  }
  const Model model = *ImportOnnx(changed.SerializeAsString());
  const PlanChoice choice = ChoosePlan(model, ReadFilePlans(model), {}, *executor_);
  EXPECT_FALSE(choice.loaded.has_value());
  EXPECT_EQ(choice.reason, PlanReason::kOtherModel);
  EXPECT_THAT(choice.explanation, HasSubstr("the model was changed after the plan was made"));
  const Bound bound = *Bind(model, {{"x", {2, 8}}});
  const absl::StatusOr<DefaultPlan> made =
      LoadDefaultPlan(model, bound, ReadFilePlans(model), *executor_);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(RunOnOnes(made->loaded)[0], -224.0f);
}

// "hidden" and "last" of an encoder, or an output that is an input as it came.
TEST_F(ChoosePlanTest, UsesAPlanWhoseGraphJoinsOutputs) {
  const std::string bytes = GraphBytes(17, R"(g (float[2, 8] x) => (float[2, 8] hidden,
      float[2, 8] last, float[2, 8] same) {
    hidden = Neg(x)
    last = Neg(x)
    same = Identity(x)
  })");
  const Graph original = Bind(*ImportOnnx(bytes), {})->graph;
  const Graph joined = *ParseTypedGraph(R"(graph {
  input %x: float32[2,8]
  %hidden = Neg(%x)
  output %hidden, %hidden, %x
})");
  const Model model = ModelWith({{PlanOfGraph(joined, original, device())}}, bytes);
  const PlanChoice choice = ChoosePlan(model, ReadFilePlans(model), {}, *executor_);
  ASSERT_TRUE(choice.loaded.has_value()) << choice.explanation;
  EXPECT_EQ(choice.loaded->graph.node_count(), 1);
  EXPECT_EQ(RunOnOnes(*choice.loaded)[0], -1.0f);
}

TEST_F(ChoosePlanTest, UsesAPlanOfAnotherProcessorAndSaysSo) {
  const PlanChoice choice = Choose({MadeOn(2, OtherProcessor())});
  ASSERT_TRUE(choice.loaded.has_value()) << choice.explanation;
  EXPECT_EQ(choice.grade, PlanGrade::kSameInstructionSet);
  EXPECT_EQ(choice.reason, PlanReason::kSameInstructionSet);
  EXPECT_THAT(choice.explanation, HasSubstr("made on another processor"));
  EXPECT_THAT(choice.explanation, HasSubstr("Other"));
  EXPECT_EQ(RunOnOnes(*choice.loaded)[0], 224.0f);
}

TEST_F(ChoosePlanTest, PrefersTheBetterGradeToTheOrder) {
  const PlanChoice choice = Choose({MadeOn(2, OtherProcessor()), PlanOfRows(3, device())});
  ASSERT_TRUE(choice.loaded.has_value()) << choice.explanation;
  EXPECT_EQ(choice.grade, PlanGrade::kExact);
  EXPECT_EQ(RunOnOnes(*choice.loaded).size(), 24u);
}

TEST_F(ChoosePlanTest, TakesThePlanOfTheShapesGiven) {
  const std::vector<EmbeddedPlan> plans = {PlanOfRows(1, device()), PlanOfRows(2, device()),
                                           PlanOfRows(4, device())};
  EXPECT_EQ(RunOnOnes(*Choose(plans).loaded).size(), 8u);
  for (const int64_t rows : {1, 2, 4}) {
    const PlanChoice choice = Choose(plans, {{"x", {rows, 8}}});
    ASSERT_TRUE(choice.loaded.has_value()) << choice.explanation;
    EXPECT_EQ(choice.grade, PlanGrade::kExact);
    EXPECT_EQ(RunOnOnes(*choice.loaded).size(), static_cast<size_t>(8 * rows));
  }
  const PlanChoice choice = Choose(plans, {{"x", {3, 8}}});
  EXPECT_FALSE(choice.loaded.has_value());
  EXPECT_EQ(choice.reason, PlanReason::kOtherModel);
  EXPECT_THAT(choice.explanation, HasSubstr("the 3 plans in the model are ignored"));
  EXPECT_THAT(choice.explanation, HasSubstr("other shapes"));
}

TEST_F(ChoosePlanTest, IgnoresPlansForOtherInstructionsAndThreads) {
  const std::string set(InstructionSetOfFingerprint(device().fingerprint));
  const std::string other = set == "avx2" ? "avx512" : "avx2";
  const PlanChoice of_other_set = Choose({MadeOn(
      2, absl::StrReplaceAll(device().fingerprint, {{"_" + set + ";", "_" + other + ";"}}))});
  EXPECT_FALSE(of_other_set.loaded.has_value());
  EXPECT_EQ(of_other_set.reason, PlanReason::kOtherDevice);
  EXPECT_THAT(of_other_set.explanation, HasSubstr("it was made for another device (" + other));

  const PlanChoice of_more_threads =
      Choose({PlanOfRows(2, device(), [](Plan* plan) { plan->threads = 2; })});
  EXPECT_FALSE(of_more_threads.loaded.has_value());
  EXPECT_EQ(of_more_threads.grade, PlanGrade::kNone);
  EXPECT_THAT(of_more_threads.explanation, HasSubstr("2 threads"));
}

TEST_F(ChoosePlanTest, ReadsTheVersionBeforeAndNoOlderOne) {
  const EmbeddedPlan now = PlanOfRows(2, device());
  EmbeddedPlan before = now;
  before.plan = absl::StrReplaceAll(now.plan, {{"plan 4 {", "plan 3 {"}, {"  predicted 0\n", ""}});
  ASSERT_NE(before.plan, now.plan);
  EXPECT_EQ(Choose({before}).grade, PlanGrade::kExact);
  for (const char* const version : {"plan 2 {", "plan 5 {"}) {
    EmbeddedPlan other = now;
    other.plan = absl::StrReplaceAll(now.plan, {{"plan 4 {", version}});
    const PlanChoice choice = Choose({other});
    EXPECT_FALSE(choice.loaded.has_value());
    EXPECT_EQ(choice.reason, PlanReason::kOtherEngine);
  }
}

TEST_F(ChoosePlanTest, SaysWhichEngineMadeAPlan) {
  EmbeddedPlan plan = PlanOfRows(2, device());
  plan.version = "plait-9.9.9+abc";
  const PlanChoice choice = Choose({plan});
  EXPECT_EQ(choice.grade, PlanGrade::kExact);
  EXPECT_THAT(choice.explanation, HasSubstr("made by engine plait-9.9.9+abc"));
}

TEST_F(ChoosePlanTest, SaysThatAPlanWasPredicted) {
  const PlanChoice choice =
      Choose({PlanOfRows(2, device(), [](Plan* plan) { plan->predicted = true; })});
  EXPECT_EQ(choice.grade, PlanGrade::kExact);
  EXPECT_THAT(choice.explanation, HasSubstr("by predicted times"));
}

TEST_F(ChoosePlanTest, RunsNoPlanOfADescribedDevice) {
  const PlanChoice choice = Choose({PlanOfRows(2, device(), [](Plan* plan) {
    plan->device_fingerprint = "model;_h200";
    plan->threads = 132;
    plan->predicted = true;
  })});
  EXPECT_FALSE(choice.loaded.has_value());
  EXPECT_EQ(choice.reason, PlanReason::kOtherDevice);
  EXPECT_THAT(choice.explanation, HasSubstr("predicted for model:h200, which is only described"));
}

TEST_F(ChoosePlanTest, RunsAnUnknownVariantByAnotherOfItsFamily) {
  EmbeddedPlan newer =
      PlanOfRows(2, device(), [](Plan* plan) { plan->steps[0].kernel.variant = "of_next_year"; });
  newer.version = "plait-9.9.9";
  const PlanChoice choice = Choose({newer});
  ASSERT_TRUE(choice.loaded.has_value()) << choice.explanation;
  EXPECT_EQ(choice.grade, PlanGrade::kExact);
  EXPECT_THAT(choice.explanation, HasSubstr("1 of its kernels run in other variants"));
  EXPECT_EQ(RunOnOnes(*choice.loaded)[7], 280.0f);
}

TEST_F(ChoosePlanTest, IgnoresAPlanOfAnUnknownFamily) {
  const PlanChoice choice = Choose(
      {PlanOfRows(2, device(), [](Plan* plan) { plan->steps[0].kernel.family = "of_next_year"; })});
  EXPECT_FALSE(choice.loaded.has_value());
  EXPECT_EQ(choice.reason, PlanReason::kInvalid);
  EXPECT_THAT(choice.explanation, HasSubstr("no kernel family \"of_next_year\""));
}

// Nobody has measured the error of what would stand in for it.
TEST_F(ChoosePlanTest, NothingStandsInForAKernelThatNeedsAdmission) {
  class Strict : public KernelCatalog {
   public:
    explicit Strict(const KernelCatalog& catalog) : catalog_(catalog) {}
    std::vector<Kernel> KernelsAt(const Graph& graph, NodeId node, bool fuse) const override {
      return catalog_.KernelsAt(graph, node, fuse);
    }
    Kernel Reorder(const TensorType& type, Format from, Format to) const override {
      return catalog_.Reorder(type, from, to);
    }
    bool NeedsAdmission(const Kernel&) const override { return true; }
    std::optional<std::string> LessExact(const Kernel&) const override { return "less"; }
    absl::string_view Version(absl::string_view family) const override {
      return catalog_.Version(family);
    }

   private:
    const KernelCatalog& catalog_;
  };
  const auto catalog = CatalogFor(device());
  const PlanChoice choice = Choose({PlanOfRows(2, device())});
  ASSERT_TRUE(choice.loaded.has_value());
  Plan plan = choice.loaded->plan;
  const Graph& graph = choice.loaded->graph;
  EXPECT_EQ(SubstituteVariants(graph, **catalog, &plan).value(), 0);
  plan.steps[0].kernel.variant = "of_next_year";
  Plan copy = plan;
  EXPECT_EQ(SubstituteVariants(graph, **catalog, &copy).value(), 1);
  EXPECT_EQ(copy, choice.loaded->plan);
  EXPECT_TRUE(
      absl::IsInvalidArgument(SubstituteVariants(graph, Strict(**catalog), &plan).status()));
  // But for the one that is offered where errors are measured, as they were for the plan.
  plan.steps[0].kernel.variant = "less";
  EXPECT_EQ(SubstituteVariants(graph, Strict(**catalog), &plan).value(), 0);
  EXPECT_EQ(plan.steps[0].kernel.variant, "less");
}

// Texts are a stranger's: whatever they say, a plan is used whole or not at all, and a default plan
// can be made all the same. What mutated graphs compute is theirs.
TEST_F(ChoosePlanTest, SurvivesMutatedTexts) {
  const EmbeddedPlan right = PlanOfRows(2, device());
  int used = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    Random random(seed);
    EmbeddedPlan plan = right;
    // Half of them of another version, for whose variants something may stand in.
    if (seed % 2 == 0) plan.version = "plait-9.9.9";
    std::string& text = random.Integer(0, 1) == 0 ? plan.plan : plan.graph;
    for (int64_t i = random.Integer(1, 3); i > 0; --i) text = MutateText(text, &random);
    const Model model = ModelWith({plan});
    const std::vector<FilePlan> plans = ReadFilePlans(model);
    const PlanChoice choice = ChoosePlan(model, plans, {}, *executor_);
    EXPECT_FALSE(choice.explanation.empty()) << seed;
    EXPECT_EQ(choice.loaded.has_value(), choice.grade != PlanGrade::kNone) << seed;
    if (choice.loaded.has_value()) ++used;
    const absl::StatusOr<Bound> bound = Bind(model, {{"x", {2, 8}}});
    ASSERT_TRUE(bound.ok()) << bound.status();
    const absl::StatusOr<DefaultPlan> made = LoadDefaultPlan(model, *bound, plans, *executor_);
    EXPECT_TRUE(made.ok()) << seed << ": " << made.status();
  }
  EXPECT_GT(used, 10);
  EXPECT_LT(used, 390);
}

TEST_F(ChoosePlanTest, PassesOverAPlanThatCannotBeLoaded) {
  EmbeddedPlan hostile = PlanOfRows(2, device());
  hostile.graph = "graph {";
  const PlanChoice choice = Choose({hostile, PlanOfRows(3, device())});
  ASSERT_TRUE(choice.loaded.has_value()) << choice.explanation;
  EXPECT_EQ(RunOnOnes(*choice.loaded).size(), 24u);
  const PlanChoice none = Choose({hostile});
  EXPECT_FALSE(none.loaded.has_value());
  EXPECT_EQ(none.reason, PlanReason::kInvalid);
  EXPECT_EQ(Choose({}).reason, PlanReason::kNone);
}

}  // namespace
}  // namespace plait
