#include "optimizer/search/kept_plans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/limits.h"
#include "base/random.h"
#include "onnx/onnx_pb.h"
#include "optimizer/onnx/import.h"
#include "optimizer/onnx/packed_text.h"
#include "tests/fuzz/mutate_text.h"
#include "tests/loading/planned_model.h"
#include "tests/optimizer/onnx/model_text.h"

namespace plait {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

DeviceDescription Device(const std::string& instruction_set = "avx2") {
  return {.id = "cpu",
          .backend = "cpu",
          .name = "One",
          .fingerprint = absl::StrCat("cpu;_One;_gcc;_", instruction_set, ";_threads=2"),
          .instruction_set = instruction_set,
          .threads = 2};
}

KeptPlans Read(const Model& model) { return ReadKeptPlans(model, 1 << 20, {{"x", {1, 8}}}); }

// By device and rows.
std::vector<std::string> NamesOf(const std::vector<KeptPlan>& plans) {
  std::vector<std::string> names;
  for (const KeptPlan& plan : plans) {
    names.push_back(absl::StrCat(plan.device_fingerprint, " ", plan.inputs[0].second[0]));
  }
  return names;
}

Model Changed(const std::function<void(::onnx::ModelProto*)>& change,
              const std::vector<EmbeddedPlan>& plans) {
  ::onnx::ModelProto changed;
  EXPECT_TRUE(changed.ParseFromString(OpenModel()));
  change(&changed);
  return ModelWith(plans, changed.SerializeAsString());
}

TEST(KeptPlansTest, KeepsPlansOfAllDevicesThreadsAndShapesInTheirOrder) {
  const auto one_thread = [](Plan* plan) { plan->threads = 1; };
  const KeptPlans kept =
      Read(ModelWith({{PlanOfRows(4, Device("avx512")), PlanOfRows(2, Device()),
                       PlanOfRows(2, Device(), one_thread), PlanOfRows(4, Device())}}));
  EXPECT_THAT(kept.warnings, IsEmpty());
  EXPECT_THAT(NamesOf(kept.plans),
              ElementsAre("cpu;_One;_gcc;_avx512;_threads=2 4", "cpu;_One;_gcc;_avx2;_threads=2 2",
                          "cpu;_One;_gcc;_avx2;_threads=1 2", "cpu;_One;_gcc;_avx2;_threads=2 4"));
  EXPECT_THAT(Read(ModelWith({})).plans, IsEmpty());
}

TEST(KeptPlansTest, KeepsOnePlanForADeviceAndShapes) {
  EmbeddedPlan second = PlanOfRows(2, Device());
  second.version = "second";
  const KeptPlans kept = Read(ModelWith({{PlanOfRows(2, Device()), second}}));
  ASSERT_EQ(kept.plans.size(), 1u);
  EXPECT_NE(kept.plans[0].texts.version, "second");
}

TEST(KeptPlansTest, ANewPlanReplacesThatOfItsDeviceAndShapesAlone) {
  const Model model = ModelWith(
      {{PlanOfRows(2, Device("avx512")), PlanOfRows(2, Device()), PlanOfRows(4, Device())}});
  const KeptPlans kept = Read(model);
  const std::vector<EmbeddedPlan> made = {PlanOfRows(2, Device())};
  std::vector<std::string> beside;
  for (const KeptPlan* plan : KeptBeside(made, kept.plans)) beside.push_back(PlanKey(plan->texts));
  EXPECT_THAT(beside, ElementsAre(PlanKey(PlanOfRows(2, Device("avx512"))),
                                  PlanKey(PlanOfRows(4, Device()))));
  const std::vector<Graph> parts = *PlannedParts(model, {{"x", {2, 8}}});
  ASSERT_EQ(parts.size(), 1u);
  // With the threads of the plan, whatever the worker has.
  EXPECT_EQ(PlanKey("cpu;_One;_gcc;_avx2;_threads=64", 2, parts[0]), PlanKey(made[0]));
}

TEST(KeptPlansTest, LeavesOutPlansOfAnotherBody) {
  const std::vector<EmbeddedPlan> plans = {PlanOfRows(2, Device()), PlanOfRows(4, Device())};
  const auto read = [&](const std::function<void(::onnx::ModelProto*)>& change) {
    const KeptPlans kept = Read(Changed(change, plans));
    EXPECT_THAT(kept.plans, IsEmpty());
    EXPECT_EQ(kept.warnings.size(), 1u);
    return kept.warnings.empty() ? "" : kept.warnings[0];
  };
  const char* const told =
      "plans 1, 2 of those that the model came with are left out: the model's nodes, weights or "
      "inputs are not those that the plan was made from";
  EXPECT_EQ(read([](auto* model) { model->mutable_graph()->mutable_node(1)->set_op_type("Neg"); }),
            told);
  EXPECT_EQ(read([](auto* model) {
              model->mutable_graph()->mutable_initializer(0)->set_float_data(5, 0.25f);
            }),
            told);
  // Names are no part of a fingerprint.
  EXPECT_THAT(read([](auto* model) {
                model->mutable_graph()->mutable_output(0)->set_name("z");
                model->mutable_graph()->mutable_node(1)->set_output(0, "z");
              }),
              HasSubstr("other inputs or outputs"));
}

// The first one alone is left out, and the job goes on with the others.
TEST(KeptPlansTest, LeavesOutWhatIsDamaged) {
  const EmbeddedPlan good = PlanOfRows(2, Device());
  const auto read = [&](const EmbeddedPlan& bad) {
    const KeptPlans kept = Read(ModelWith({{bad, PlanOfRows(4, Device())}}));
    EXPECT_EQ(kept.plans.size(), 1u);
    EXPECT_EQ(kept.warnings.size(), 1u);
    return kept.warnings.empty() ? "" : kept.warnings[0];
  };
  EmbeddedPlan bad = good;
  bad.plan = absl::StrReplaceAll(good.plan, {{"plan 4 {", "plan 9 {"}});
  EXPECT_THAT(read(bad), HasSubstr("this program reads versions 3 and 4"));
  bad = good;
  bad.graph = PlanOfRows(3, Device()).graph;
  EXPECT_THAT(read(bad), HasSubstr("another graph than the one beside it"));
  bad = good;
  bad.plan = good.plan.substr(0, good.plan.size() / 2);
  EXPECT_THAT(read(bad), HasSubstr("plan 1 of those that the model came with is left out: "));
  bad = good;
  bad.plan = absl::StrReplaceAll(good.plan, {{"_One", std::string(2000, '1')}});
  EXPECT_THAT(read(bad), HasSubstr("a name of more than 1024 bytes"));
  // Its texts are printed, and are nobody's that a terminal obeys.
  bad.plan = "\x1b[2J\xff";
  EXPECT_EQ(read(bad).find('\x1b'), std::string::npos);
}

TEST(KeptPlansTest, LeavesOutWhatIsTooLarge) {
  EmbeddedPlan large = PlanOfRows(2, Device());
  // As large in the file as in memory, and the other way round.
  Random random(1);
  for (int i = 0; i < 40000; ++i) absl::StrAppend(&large.rewrites, random.Next());
  const std::vector<EmbeddedPlan> plans = {large, PlanOfRows(4, Device())};
  const KeptPlans kept = Read(ModelWith(plans));
  EXPECT_THAT(NamesOf(kept.plans), ElementsAre("cpu;_One;_gcc;_avx2;_threads=2 4"));
  EXPECT_THAT(kept.warnings, ElementsAre(HasSubstr("more than 262144 bytes of the file")));
  // 3 % of a large file is more.
  EXPECT_EQ(ReadKeptPlans(ModelWith(plans), 1 << 30, {}).plans.size(), 2u);
  EmbeddedPlan bomb = PlanOfRows(2, Device());
  bomb.rewrites = std::string(50 << 20, 'r');
  EXPECT_EQ(Read(ModelWith({{bomb, PlanOfRows(4, Device())}})).plans.size(), 1u);
  const std::vector<EmbeddedPlan> many(kPlansPerModelMax + 1, PlanOfRows(2, Device()));
  const KeptPlans none = Read(ModelWith(many));
  EXPECT_THAT(none.plans, IsEmpty());
  EXPECT_THAT(none.warnings, ElementsAre(HasSubstr("a model may have 64 plans")));
}

TEST(KeptPlansTest, TellsOfAFewReasons) {
  std::vector<EmbeddedPlan> plans;
  for (int i = 0; i < 20; ++i) {
    plans.push_back({absl::StrCat("no plan ", i), "graph {", "1"});
    plans.push_back({"no plan", "graph {", "1"});
  }
  const std::vector<std::string> warnings = Read(ModelWith(plans)).warnings;
  ASSERT_EQ(warnings.size(), 8u);
  EXPECT_THAT(warnings[0], HasSubstr("plan 1 of those"));
  EXPECT_THAT(warnings[1], HasSubstr("plans 2, 4, 6"));
  EXPECT_THAT(warnings[7], HasSubstr("39 of those that the model came with are left out: for "
                                     "further reasons"));
}

// Sizes that a model of theirs would have.
TEST(KeptPlansTest, LeavesOutShapesThatNobodyCouldRun) {
  const EmbeddedPlan good = PlanOfRows(2, Device());
  for (const char* const rows : {"1099511627776", "0", "99999999999999999999"}) {
    EmbeddedPlan bad = good;
    bad.graph = absl::StrReplaceAll(good.graph, {{"[2,8]", absl::StrCat("[", rows, ",8]")}});
    ASSERT_NE(bad.graph, good.graph);
    EXPECT_THAT(Read(ModelWith({{bad}})).plans, IsEmpty()) << rows;
  }
}

TEST(KeptPlansTest, SurvivesAnyText) {
  const EmbeddedPlan good = PlanOfRows(2, Device());
  Random random(7);
  int kept = 0;
  for (int i = 0; i < 300; ++i) {
    EmbeddedPlan bad = good;
    std::string& text = i % 3 == 0 ? bad.plan : i % 3 == 1 ? bad.graph : bad.original;
    text = MutateText(text, &random);
    const KeptPlans read = Read(ModelWith({{bad}}));
    EXPECT_EQ(read.plans.size() + read.warnings.size(), 1u);
    kept += static_cast<int>(read.plans.size());
  }
  EXPECT_LT(kept, 300);
}

std::string IslandsModel() {
  return GraphBytes(17, R"(g (float[N, 8] x) => (float[N, 8] y) {
                             a = Relu(x)
                             b = custom.Unknown(a)
                             c = Neg(a)
                             y = Add(b, c)
                           })",
                    [](::onnx::ModelProto* model) {
                      auto* opset = model->add_opset_import();
                      opset->set_domain("custom");
                      opset->set_version(1);
                    });
}

// An island in the middle reads no input of the model, so that its sizes are those of others.
TEST(KeptPlansTest, KeepsPlansOfIslands) {
  const Model model = *ImportOnnx(IslandsModel());
  std::vector<EmbeddedPlan> plans;
  for (const int64_t rows : {4, 2}) {
    const absl::StatusOr<std::vector<Graph>> parts = PlannedParts(model, {{"x", {rows, 8}}});
    ASSERT_TRUE(parts.ok()) << parts.status();
    ASSERT_FALSE(parts->empty());
    for (const Graph& part : *parts) plans.push_back(PlanOfGraph(part, part, Device()));
  }
  const KeptPlans kept = Read(ModelWith(plans, IslandsModel()));
  EXPECT_THAT(kept.warnings, IsEmpty());
  EXPECT_EQ(kept.plans.size(), plans.size());
  // Of the other model none is a part.
  EXPECT_THAT(Read(ModelWith(plans)).plans, IsEmpty());
}

}  // namespace
}  // namespace plait
