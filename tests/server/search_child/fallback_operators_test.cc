#include "server/search_child/fallback_operators.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "optimizer/search/predicted_plan.h"
#include "proto/wire/device.h"
#include "server/search_child/job_catalog.h"
#include "tests/fakes/fake_device.h"

namespace plait {
namespace {

using testing::ElementsAre;

internal::Start StartOn(const v1::Device& device) {
  internal::Start start;
  *start.mutable_device() = device;
  return start;
}

v1::Device Cpu() {
  return wire::DeviceToProto(
      {.id = "cpu", .backend = "cpu", .fingerprint = "cpu;test", .instruction_set = "avx2"});
}

// Of the graph planned as each of its parts is, on the device.
std::vector<v1::FallbackOperator> FallbacksOf(const internal::Start& start, const Graph& graph,
                                              int parts = 1) {
  const absl::StatusOr<DeviceDescription> device = wire::DeviceFromProto(start.device());
  if (!device.ok()) return FallbackOperators(start, {});
  const auto catalog = JobCatalog(start.options(), *device);
  const Plan plan = PredictedBaseline(graph, *device, **catalog, "test")->plan;
  return FallbackOperators(start, std::vector<PlannedPart>(parts, {graph, plan}));
}

// What no backend but the reference has kernels for.
Graph SumsAndRemainders() {
  return GraphOf(R"(graph {
  input %x: float32[3,4]
  const %axis: int64[] = [1]
  const %two: float32[] = [2.0]
  %a = Mod(%x, %two) {fmod=1}
  %b = Relu(%a)
  %c = Mod(%b, %two) {fmod=1}
  %y = CumSum(%c, %axis)
  output %y
})");
}

TEST(FallbackOperatorsTest, ListsNodesThatADescribedDeviceLeavesToTheHost) {
  const std::vector<v1::FallbackOperator> found =
      FallbacksOf(StartOn(*wire::DescribedDevice("model:h200")), SumsAndRemainders());
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].op_type(), "CumSum");
  EXPECT_EQ(found[0].nodes(), 1);
  EXPECT_THAT(found[0].names(), ElementsAre("CumSum of 'y'"));
}

TEST(FallbackOperatorsTest, CountsNodesOfAllParts) {
  const std::vector<v1::FallbackOperator> found =
      FallbacksOf(StartOn(Cpu()), SumsAndRemainders(), 2);
  ASSERT_FALSE(found.empty());
  const v1::FallbackOperator& remainders = found.back();
  EXPECT_EQ(remainders.op_type(), "Mod");
  EXPECT_EQ(remainders.nodes(), 4);
  EXPECT_THAT(remainders.names(),
              ElementsAre("Mod of 'a'", "Mod of 'c'", "Mod of 'a'", "Mod of 'c'"));
}

TEST(FallbackOperatorsTest, NamesTheFirstOfManyNodes) {
  std::string text = "graph {\n  input %x0: float32[3,4]\n  const %two: float32[] = [2.0]\n";
  for (int i = 0; i < 40; ++i) {
    absl::StrAppend(&text, "  %x", i + 1, " = Mod(%x", i, ", %two) {fmod=1}\n");
  }
  const std::vector<v1::FallbackOperator> found =
      FallbacksOf(StartOn(Cpu()), GraphOf(text + "  output %x40\n}"));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].nodes(), 40);
  EXPECT_EQ(found[0].names_size(), 16);
}

TEST(FallbackOperatorsTest, NamesALayerByAnOutputThatItHas) {
  const Graph graph = GraphOf(R"(graph {
  input %x: float32[5,2,12]
  const %w: float32[1,80,12] = synthetic 1
  const %r: float32[1,80,20] = synthetic 2
  _, %h = LSTM(%x, %w, %r)
  output %h
})");
  Plan plan;
  plan.steps = {{.kernel = {.family = "reference", .nodes = {0}}}};
  const std::vector<v1::FallbackOperator> found =
      FallbackOperators(StartOn(Cpu()), std::vector<PlannedPart>{{graph, plan}});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].names(), ElementsAre("LSTM of 'h'"));
}

TEST(FallbackOperatorsTest, KnowsNothingOfADeviceWithoutKernels) {
  EXPECT_TRUE(FallbacksOf(internal::Start(), SumsAndRemainders()).empty());
}

}  // namespace
}  // namespace plait
