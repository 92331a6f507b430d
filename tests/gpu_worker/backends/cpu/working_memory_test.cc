#include "gpu_worker/backends/cpu/run/working_memory.h"

#include <cstring>
#include <limits>
#include <optional>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "absl/strings/substitute.h"
#include "gpu_worker/executor/make_inputs.h"
#include "optimizer/ops/evaluation/evaluate.h"
#include "tests/fakes/planned_graph.h"
#include "tests/gpu_worker/executor/executor_fixture.h"

namespace plait {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

WorkingMemory::Share Take(WorkingMemory& memory, size_t slot, int64_t bytes) {
  absl::StatusOr<WorkingMemory::Share> share = memory.Take(slot, bytes, 4 * bytes);
  EXPECT_TRUE(share.ok()) << share.status();
  return *std::move(share);
}

void Write(const WorkingMemory::Share& share) {
  const MemoryRegion region = share.Region();
  std::memset(region.data(), 1, static_cast<size_t>(region.size_bytes()));
}

bool IsInMemory(std::byte* byte) {
  const auto page_bytes = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  auto* const page = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(byte) & -page_bytes);
  unsigned char state = 0;
  EXPECT_EQ(mincore(page, page_bytes, &state), 0);
  return (state & 1) != 0;
}

TEST(WorkingMemoryTest, SharesOfASlotAreOnePlace) {
  WorkingMemory memory;
  const WorkingMemory::Share first = Take(memory, 0, kMiB);
  const WorkingMemory::Share second = Take(memory, 0, 2 * kMiB);
  const WorkingMemory::Share other = Take(memory, 1, kMiB);
  EXPECT_EQ(first.Region().data(), second.Region().data());
  EXPECT_EQ(second.Region().size_bytes(), 2 * kMiB);
  EXPECT_NE(first.Region().data(), other.Region().data());
}

TEST(WorkingMemoryTest, WhatIsTooLargeBeginsAnew) {
  WorkingMemory memory;
  const WorkingMemory::Share small = Take(memory, 0, kMiB);
  Write(small);
  const WorkingMemory::Share large = Take(memory, 0, 64 * kMiB);
  EXPECT_NE(small.Region().data(), large.Region().data());
  Write(large);
  EXPECT_EQ(small.Region().data()[0], std::byte{1}) << "stays as long as it is used";
  EXPECT_EQ(Take(memory, 0, kMiB).Region().data(), large.Region().data());
}

TEST(WorkingMemoryTest, HasNoMoreThanTheLargestShare) {
  WorkingMemory memory;
  std::optional<WorkingMemory::Share> large = Take(memory, 0, 32 * kMiB);
  const WorkingMemory::Share small = Take(memory, 0, 8 * kMiB);
  Write(*large);
  std::byte* const data = small.Region().data();
  const auto has = [&](int64_t bytes) { return IsInMemory(data + bytes - 1); };
  large->Shrink(24 * kMiB);
  EXPECT_TRUE(has(24 * kMiB));
  EXPECT_FALSE(has(32 * kMiB));
  large.reset();
  EXPECT_TRUE(has(8 * kMiB)) << "what is still used stays";
  EXPECT_FALSE(has(24 * kMiB));
}

TEST(WorkingMemoryTest, CanBeTakenBeforeItIsWritten) {
  WorkingMemory memory;
  const WorkingMemory::Share share = Take(memory, 0, 8 * kMiB);
  std::byte* const data = share.Region().data();
  EXPECT_FALSE(IsInMemory(data + 4 * kMiB));
  share.Populate();
  EXPECT_TRUE(IsInMemory(data));
  EXPECT_TRUE(IsInMemory(data + 8 * kMiB - 1));
  EXPECT_FALSE(IsInMemory(data + 16 * kMiB)) << "what is behind the share is nobody's yet";
}

TEST(WorkingMemoryTest, OutlivesWhatItWasTakenFrom) {
  std::optional<WorkingMemory> memory(std::in_place);
  WorkingMemory::Share share = Take(*memory, 3, kMiB);
  memory.reset();
  Write(share);
  WorkingMemory::Share moved = std::move(share);
  EXPECT_EQ(moved.Region().data()[kMiB - 1], std::byte{1});
}

// Layers whose padding has to be zeros, whatever lay there before, and outputs that are views.
Graph PaddedLayers(int64_t images, int64_t size) {
  return ParseTyped(absl::Substitute(
      "graph {\n"
      "  input %x: float32[$0,16,$1,$1]\n"
      "  const %w: float32[16,16,3,3] = synthetic 1\n"
      "  const %v: float32[16,1,5,5] = synthetic 2\n"
      "  const %u: float32[16,16,2,2] = synthetic 3\n"
      "  const %m: float32[16,24] = synthetic 4\n"
      "  %a = Conv(%x, %w) {kernel_shape=[3,3], pads=[1,1,1,1]}\n"
      "  %b = Relu(%a)\n"
      "  %c = Conv(%b, %v) {kernel_shape=[5,5], pads=[2,2,2,2], strides=[2,2], group=16}\n"
      "  %d = MaxPool(%c) {kernel_shape=[3,3], pads=[1,1,1,1]}\n"
      "  %e = AveragePool(%c) {kernel_shape=[3,3], pads=[1,1,1,1]}\n"
      "  %f = Concat(%d, %e) {axis=1}\n"
      "  %g = ConvTranspose(%c, %u) {kernel_shape=[2,2], strides=[2,2]}\n"
      "  %h = Sigmoid(%g)\n"
      "  %i = Transpose(%e) {perm=[0,2,3,1]}\n"
      "  %j = MatMul(%i, %m)\n"
      "  %k = Softmax(%j) {axis=3}\n"
      "  %l = Transpose(%k) {perm=[0,3,1,2]}\n"
      "  output %f, %h, %l\n"
      "}\n",
      images, size));
}

std::vector<std::string> RunBytes(Executable& executable, absl::Span<const Tensor> inputs) {
  const absl::StatusOr<std::vector<Tensor>> outputs = executable.Run(inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  std::vector<std::string> bytes;
  for (const Tensor& output : *outputs) bytes.emplace_back(output.bytes());
  return bytes;
}

// All that a run writes becomes a NaN.
std::vector<Tensor> Nans(const Graph& graph) {
  const TensorType& type = graph.type(graph.inputs()[0]);
  const std::vector<float> nans(static_cast<size_t>(type.elements()),
                                std::numeric_limits<float>::quiet_NaN());
  return {Tensor(type, std::string(reinterpret_cast<const char*>(nans.data()), 4 * nans.size()))};
}

class SharedWorkingMemoryTest : public ExecutorFixture {
 protected:
  void SetUp() override {
    Open("cpu", 2);
    absl::StatusOr<std::unique_ptr<Executor>> sharing =
        OpenExecutor("cpu", {.threads = 2, .shares_working_memory = true});
    ASSERT_TRUE(sharing.ok()) << sharing.status();
    sharing_ = *std::move(sharing);
  }

  static std::unique_ptr<Executable> Load(Executor& executor, const Graph& graph,
                                          const Plan& plan) {
    absl::StatusOr<std::unique_ptr<Executable>> loaded = executor.Load(graph, plan, NoWeights());
    EXPECT_TRUE(loaded.ok()) << loaded.status();
    return *std::move(loaded);
  }

  std::vector<Plan> PlansFor(const Graph& graph) const {
    std::vector<Plan> plans = PlansOf(graph, *catalog_, executor_->device());
    plans.push_back(PlanOf(graph, {.threads = 2}));
    return plans;
  }

  std::unique_ptr<Executor> sharing_;
};

TEST_F(SharedWorkingMemoryTest, NoBitDependsOnWhoRanBefore) {
  const Graph large = PaddedLayers(3, 26);
  const std::unique_ptr<Executable> before = Load(*sharing_, large, PlanOf(large, {.threads = 2}));
  for (const int64_t size : {26, 13, 7, 20}) {
    const Graph graph = PaddedLayers(1, size);
    const std::vector<Tensor> inputs = *MakeInputs(graph, 1);
    for (const Plan& plan : PlansFor(graph)) {
      const std::vector<std::string> expected = RunBytes(*Load(*executor_, graph, plan), inputs);
      const std::unique_ptr<Executable> shared = Load(*sharing_, graph, plan);
      for (int run = 0; run < 2; ++run) {
        RunBytes(*before, Nans(large));
        EXPECT_EQ(RunBytes(*shared, inputs), expected) << size;
      }
    }
  }
}

// They say something between runs, and an island of a model is read when others have run.
TEST_F(SharedWorkingMemoryTest, InputsAndOutputsAreAnExecutablesOwn) {
  const Graph large = PaddedLayers(3, 26);
  const Graph graph = PaddedLayers(1, 13);
  const std::vector<Tensor> inputs = *MakeInputs(graph, 1);
  for (const Plan& plan : PlansFor(graph)) {
    const std::unique_ptr<Executable> executable = Load(*sharing_, graph, plan);
    const std::unique_ptr<Executable> other = Load(*sharing_, large, PlanOf(large));
    const BoundTensors bound = *executable->Bound();
    const BoundTensor& input = bound.inputs[0];
    std::memcpy(input.data, inputs[0].bytes().data(), inputs[0].bytes().size());
    ASSERT_TRUE(executable->RunBound({}, {}).ok());
    const auto bytes_of = [](const BoundTensor& tensor) {
      return std::string(reinterpret_cast<const char*>(tensor.data),
                         static_cast<size_t>(tensor.type.bytes()));
    };
    std::vector<std::string> outputs;
    for (const BoundTensor& output : bound.outputs) outputs.push_back(bytes_of(output));
    RunBytes(*other, Nans(large));
    EXPECT_EQ(bytes_of(input), inputs[0].bytes());
    for (size_t i = 0; i < outputs.size(); ++i) EXPECT_EQ(bytes_of(bound.outputs[i]), outputs[i]);
  }
}

}  // namespace
}  // namespace plait
