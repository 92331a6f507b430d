#include "optimizer/onnx/attach_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/limits.h"
#include "optimizer/onnx/import.h"
#include "optimizer/onnx/packed_text.h"
#include "tests/optimizer/onnx/model_text.h"

namespace plait {
namespace {

const EmbeddedPlan kPlan = {"the plan", "the graph", "1.2.3"};

std::string NetBytes() {
  return GraphBytes(17, "g (float[N, 4] x) => (float[N, 4] y) { y = Relu(x) }",
                    [](onnx::ModelProto* model) {
                      auto* entry = model->add_metadata_props();
                      entry->set_key("author");
                      entry->set_value("someone");
                    });
}

std::string AttachedBytes(const absl::StatusOr<ModelWithPlan>& written) {
  EXPECT_TRUE(written.ok()) << written.status();
  std::string bytes;
  for (const absl::string_view kept : written->kept) bytes.append(kept.data(), kept.size());
  return bytes + written->appended;
}

bool AreEqual(const EmbeddedPlan& a, const EmbeddedPlan& b) {
  return a.plan == b.plan && a.graph == b.graph && a.version == b.version &&
         a.rewrites == b.rewrites;
}

std::vector<EmbeddedPlan> PlansOf(const std::string& bytes) {
  const absl::StatusOr<Model> model = ImportOnnx(bytes);
  EXPECT_TRUE(model.ok()) << model.status();
  const auto read = ReadEmbeddedPlans(*model);
  EXPECT_TRUE(read.ok()) << read.status();
  std::vector<EmbeddedPlan> plans;
  for (const absl::StatusOr<EmbeddedPlan>& plan : *read) {
    EXPECT_TRUE(plan.ok()) << plan.status();
    plans.push_back(*plan);
  }
  return plans;
}

Model WithEntries(const std::vector<std::pair<std::string, std::string>>& entries) {
  const std::string bytes = GraphBytes(17, "g (float[4] x) => (float[4] y) { y = Relu(x) }",
                                       [&](onnx::ModelProto* model) {
                                         for (const auto& [key, value] : entries) {
                                           auto* entry = model->add_metadata_props();
                                           entry->set_key(key);
                                           entry->set_value(value);
                                         }
                                       });
  return *ImportOnnx(bytes);
}

TEST(AttachPlanTest, KeepsEveryByteOfTheOriginal) {
  const std::string original = NetBytes();
  const std::string bytes = AttachedBytes(AttachPlans(original, {kPlan}));
  EXPECT_EQ(bytes.substr(0, original.size()), original);
  const absl::StatusOr<Model> model = ImportOnnx(bytes);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_FALSE(model->inputs()[0].shape[0].known());
  const std::vector<EmbeddedPlan> plans = PlansOf(bytes);
  ASSERT_EQ(plans.size(), 1u);
  EXPECT_TRUE(AreEqual(plans[0], kPlan));
}

TEST(AttachPlanTest, KeepsSeveralPlansInOrderAndAGraphThatTheyShareOnce) {
  const EmbeddedPlan other = {"another plan", "another graph", "1.2.4", "its rewrites"};
  const EmbeddedPlan shares = {"a third plan", kPlan.graph, "1.2.3"};
  const std::string bytes = AttachedBytes(AttachPlans(NetBytes(), {kPlan, other, shares}));
  const std::vector<EmbeddedPlan> plans = PlansOf(bytes);
  ASSERT_EQ(plans.size(), 3u);
  EXPECT_TRUE(AreEqual(plans[0], kPlan));
  EXPECT_TRUE(AreEqual(plans[1], other));
  EXPECT_TRUE(AreEqual(plans[2], shares));
  const auto entries = MetadataOf({kPlan, other, shares});
  EXPECT_THAT(entries, testing::Contains(testing::Pair("plait.graph.2", "plan:0")));
  // A program that knows one plan only finds the first.
  EXPECT_THAT(entries, testing::Contains(testing::Pair("plait.version", "1.2.3")));
}

TEST(AttachPlanTest, RefusesAGraphThatNoPlanBeforeHas) {
  for (const char* const graph : {"plan:1", "plan:2", "plan:-1", "plan:", "plan:99999999999999"}) {
    const auto plans = ReadEmbeddedPlans(WithEntries({{"plait.version", "1"},
                                                      {"plait.plan", PackText("p")},
                                                      {"plait.graph", PackText("g")},
                                                      {"plait.version.1", "1"},
                                                      {"plait.plan.1", PackText("p")},
                                                      {"plait.graph.1", graph}}));
    ASSERT_TRUE(plans.ok()) << plans.status();
    ASSERT_EQ(plans->size(), 2u);
    EXPECT_TRUE(plans->at(0).ok());
    EXPECT_TRUE(absl::IsInvalidArgument(plans->at(1).status())) << graph;
  }
}

TEST(AttachPlanTest, RefusesMorePlansThanTheLimit) {
  const std::vector<EmbeddedPlan> plans(kPlansPerModelMax + 1, kPlan);
  const absl::StatusOr<Model> model = ImportOnnx(AttachedBytes(AttachPlans(NetBytes(), plans)));
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_TRUE(absl::IsResourceExhausted(ReadEmbeddedPlans(*model).status()));
}

// What is named again and again takes room each time.
TEST(AttachPlanTest, LimitsTheBytesOfAllPlansTogether) {
  const EmbeddedPlan large = {"p", std::string(kPlanTextsBytesMax / 5, 'g'), "1"};
  const std::vector<EmbeddedPlan> plans(6, large);
  const absl::StatusOr<Model> model = ImportOnnx(AttachedBytes(AttachPlans(NetBytes(), plans)));
  ASSERT_TRUE(model.ok()) << model.status();
  const auto read = ReadEmbeddedPlans(*model);
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->size(), 6u);
  EXPECT_TRUE(read->at(3).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(read->at(5).status()));
}

TEST(AttachPlanTest, ReplacesThePlanOfBefore) {
  const std::string original = NetBytes();
  const std::string before = AttachedBytes(AttachPlans(original, {kPlan}));
  const EmbeddedPlan next = {"another plan", "another graph", "1.2.4"};
  EXPECT_EQ(AttachedBytes(AttachPlans(before, {next})),
            AttachedBytes(AttachPlans(original, {next})));
  EXPECT_EQ(AttachedBytes(AttachPlans(before, {})), original);
  // Wherever its entries lie.
  EXPECT_EQ(AttachedBytes(AttachPlans(AttachPlans(original, {kPlan})->appended + original, {})),
            original);
}

TEST(AttachPlanTest, RefusesWhatIsNoModel) {
  EXPECT_TRUE(absl::IsInvalidArgument(AttachPlans("not a model", {kPlan}).status()));
}

}  // namespace
}  // namespace plait
