#include "gpu_worker/executor/memory_limits.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/gpu_worker/executor/executor_fixture.h"

namespace plait {
namespace {

using testing::HasSubstr;

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
  GraphBuilder builder;
  const TensorType largest{DataType::kFloat64, {int64_t{1} << 40}};
  const TensorId input = builder.AddInput(largest, "x");
  for (int i = 0; i < 1 << 21; ++i) builder.AddOutput(input);
  const absl::StatusOr<Graph> graph = std::move(builder).Finish();
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(LoadedBytes(*graph, Plan()), std::numeric_limits<int64_t>::max());
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
