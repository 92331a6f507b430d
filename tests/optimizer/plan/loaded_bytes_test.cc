#include "optimizer/plan/loaded_bytes.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "optimizer/ir/text.h"
#include "optimizer/ops/shared/op_spec.h"

namespace plait {
namespace {

using testing::HasSubstr;

Graph ParseTyped(absl::string_view text) {
  absl::StatusOr<Graph> graph = ParseTypedGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return graph.ok() ? *std::move(graph) : Graph();
}

// Outputs that have more bytes together than an int64 counts.
Graph HugeOutputs() {
  GraphBuilder builder;
  const TensorType largest{DataType::kFloat64, {int64_t{1} << 40}};
  const TensorId input = builder.AddInput(largest, "x");
  for (int i = 0; i < 1 << 21; ++i) builder.AddOutput(input);
  return *std::move(builder).Finish();
}

TEST(LoadedBytesTest, CountsArenaConstantsInputsAndOutputs) {
  const Graph graph = ParseTyped(R"(graph {
  input %x: float32[2,3]
  const %w: float32[3,5] = synthetic 1
  %m = MatMul(%x, %w)
  %y = Cast(%m) {to=11}
  output %y
})");
  Plan plan;
  plan.arena_bytes = 128;
  EXPECT_EQ(PortBytes(graph), 2 * 3 * 4 + 2 * 5 * 8);
  EXPECT_EQ(LoadedBytes(graph, plan), 128 + 3 * 5 * 4 + PortBytes(graph));
}

TEST(LoadedBytesTest, EndsAtTheLargestNumber) {
  const Graph graph = HugeOutputs();
  EXPECT_EQ(LoadedBytes(graph, Plan()), std::numeric_limits<int64_t>::max());
}

TEST(LeastLoadedBytesTest, CountsWhatOneNodeReadsOrMakes) {
  const Graph graph = ParseTyped(R"(graph {
  input %x: float32[2,3]
  const %w: float32[3,5] = synthetic 1
  %m = MatMul(%x, %w)
  %r = Relu(%m)
  %s = Add(%m, %r)
  %y = Add(%s, %s)
  output %y
})");
  const int64_t fixed = 3 * 5 * 4 + PortBytes(graph);
  EXPECT_EQ(LeastLoadedBytes(graph), fixed + 2 * (2 * 5 * 4)) << "both that an Add reads";
}

TEST(LeastLoadedBytesTest, OfAGraphWithOpaqueNodesCountsTheLargestNode) {
  const Graph graph = ParseTyped(R"(graph {
  input %x: float32[2,3]
  const %w: float32[3,5] = synthetic 1
  %m = MatMul(%x, %w)
  %o: float32[2,5] = Opaque(%m) {op_type="Foo"}
  %y = Relu(%o)
  output %y
})");
  EXPECT_EQ(LeastLoadedBytes(graph), 3 * 5 * 4 + 2 * 3 * 4);
}

TEST(LeastLoadedBytesTest, EndsAtTheLargestNumber) {
  const Graph graph = HugeOutputs();
  EXPECT_EQ(LeastLoadedBytes(graph), std::numeric_limits<int64_t>::max());
}

TEST(CheckMemoryTest, NamesWhatIsNeededAndWhatThereIs) {
  DeviceDescription device;
  device.id = "cpu";
  device.memory_bytes = 1000;
  EXPECT_TRUE(CheckMemory("plan", 1000, device).ok());
  const absl::Status status = CheckMemory("plan", 1001, device);
  EXPECT_TRUE(absl::IsResourceExhausted(status));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("plan: needs 1001 bytes of memory, device cpu has 1000"));
}

}  // namespace
}  // namespace plait
