#include "optimizer/onnx/attach_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "optimizer/onnx/import.h"
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

std::string BytesOf(const absl::StatusOr<ModelWithPlan>& written) {
  EXPECT_TRUE(written.ok()) << written.status();
  std::string bytes;
  for (const absl::string_view kept : written->kept) bytes.append(kept.data(), kept.size());
  return bytes + written->appended;
}

TEST(AttachPlanTest, KeepsEveryByteOfTheOriginal) {
  const std::string original = NetBytes();
  const std::string bytes = BytesOf(AttachPlan(original, kPlan));
  EXPECT_EQ(bytes.substr(0, original.size()), original);
  const absl::StatusOr<Model> model = ImportOnnx(bytes);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_FALSE(model->inputs()[0].shape[0].known());
  const absl::StatusOr<std::optional<EmbeddedPlan>> plan = ReadEmbeddedPlan(*model);
  ASSERT_TRUE(plan.ok() && plan->has_value()) << plan.status();
  EXPECT_EQ((*plan)->plan, kPlan.plan);
  EXPECT_EQ((*plan)->graph, kPlan.graph);
  EXPECT_EQ((*plan)->version, kPlan.version);
}

TEST(AttachPlanTest, ReplacesThePlanOfBefore) {
  const std::string original = NetBytes();
  const std::string before = BytesOf(AttachPlan(original, kPlan));
  const EmbeddedPlan next = {"another plan", "another graph", "1.2.4"};
  EXPECT_EQ(BytesOf(AttachPlan(before, next)), BytesOf(AttachPlan(original, next)));
  EXPECT_EQ(BytesOf(AttachPlan(before, std::nullopt)), original);
  // Wherever its entries lie.
  EXPECT_EQ(BytesOf(AttachPlan(AttachPlan(original, kPlan)->appended + original, std::nullopt)),
            original);
}

TEST(AttachPlanTest, RefusesWhatIsNoModel) {
  EXPECT_TRUE(absl::IsInvalidArgument(AttachPlan("not a model", kPlan).status()));
}

}  // namespace
}  // namespace plait
