#include <cstdio>
#include <utility>

#include "gpu_worker/backends/cuda/driver/driver_runtime.h"
#include "gpu_worker/backends/cuda/driver/graph_builder.h"
#include "gpu_worker/backends/cuda/driver/staging.h"
#include "gpu_worker/backends/cuda/problem/candidate.h"
#include "gpu_worker/backends/cuda/problem/problem_shape.h"
#include "gpu_worker/simulated_gpu/driver/simulated_driver.h"
#include "gtest/gtest.h"
#include "tests/gpu_worker/simulated_gpu/generated_work.h"

// Generated kernels as nodes of one graph, which the runtime that a GPU would have builds and
// launches, on the simulated driver: the blocks of all of them take turns.

namespace plait::cuda {
extern const CandidateSource kGeneratedSource;
}

namespace plait::simulated_gpu {
namespace {

using Kind = cuda::KernelArgument::Kind;

constexpr size_t kStagingBytes = size_t{1} << 20;

// A work's operands in the device's memory, in the order of the kernel's arguments.
using Placed = std::vector<void*>;

int64_t ElementBytesOf(const cuda::KernelArgument& argument, const Work& work) {
  return cuda::ElementBytes(argument.type, work.precision);
}

class DriverGraphTest : public testing::TestWithParam<const cuda::GeneratedFamily*> {
 protected:
  void SetUp() override {
    if (!HasNvrtc()) GTEST_SKIP() << "libnvrtc.so.13 is not here";
    auto stream = runtime_.CreateStream(0);
    auto staging = cuda::Staging::Make(&runtime_, kStagingBytes);
    ASSERT_TRUE(stream.ok() && staging.ok());
    stream_ = stream.value();
    staging_ = std::move(staging).value();
  }

  Placed Place(const Work& work, const cuda::HostOperands& operands) {
    const cuda::ProblemShape shape = cuda::ShapeOf(work.problem).value();
    Placed placed;
    for (const cuda::KernelArgument& argument : work.kernel.arguments) {
      // What is no operand of the problem may be null.
      placed.push_back(nullptr);
      const bool is_workspace = argument.kind == Kind::kWorkspace;
      if (argument.kind > Kind::kOutput && !is_workspace) continue;
      const bool output = argument.kind == Kind::kOutput;
      std::vector<std::byte> bytes;
      if (!output && !is_workspace) bytes = BytesOf(argument, operands, work.precision);
      size_t size = bytes.size();
      if (output) size = shape.outputs[argument.index] * ElementBytesOf(argument, work);
      if (is_workspace) size = work.kernel.workspace_bytes;
      const auto memory = runtime_.Allocate(size);
      EXPECT_TRUE(memory.ok()) << memory.error().message;
      if (!memory.ok()) return placed;
      placed.back() = memory.value();
      if (!bytes.empty()) {
        EXPECT_TRUE(staging_->Upload(memory.value(), bytes.data(), size, stream_).ok());
      }
    }
    return placed;
  }

  cuda::Status LaunchWork(const Work& work, cuda::Kernel kernel, Placed placed,
                          cuda::Stream stream) {
    int step = 0;
    std::vector<void*> arguments;
    for (size_t i = 0; i < placed.size(); ++i) {
      const bool is_step = work.kernel.arguments[i].kind == Kind::kStep;
      arguments.push_back(is_step ? static_cast<void*>(&step) : &placed[i]);
    }
    for (; step < work.kernel.launches; ++step) {
      const cuda::Status launched = runtime_.LaunchKernel(
          kernel, {.grid = work.kernel.grid, .block = work.kernel.block}, arguments.data(), stream);
      if (!launched.ok()) return launched;
    }
    return cuda::Ok();
  }

  void ExpectResult(const Work& work, const cuda::HostOperands& operands, const Placed& placed) {
    const cuda::ProblemShape shape = cuda::ShapeOf(work.problem).value();
    std::vector<std::vector<float>> outputs(shape.outputs.size());
    for (size_t i = 0; i < placed.size(); ++i) {
      const cuda::KernelArgument& argument = work.kernel.arguments[i];
      if (argument.kind != Kind::kOutput) continue;
      const int64_t count = shape.outputs[argument.index];
      std::vector<std::byte> bytes(count * ElementBytesOf(argument, work));
      const cuda::Status read = staging_->Download(bytes.data(), placed[i], bytes.size(), stream_);
      ASSERT_TRUE(read.ok()) << work.name << ": " << read.error().message;
      outputs[argument.index] =
          cuda::FromStorage(bytes.data(), count, argument.type, work.precision);
    }
    const absl::Status right = CheckOutputs(work, ReferenceOf(work, operands), outputs);
    EXPECT_TRUE(right.ok()) << right;
  }

  SimulatedDriver driver_;
  cuda::DriverRuntime runtime_{0, &driver_.library()};
  cuda::Stream stream_ = nullptr;
  std::unique_ptr<cuda::Staging> staging_;
};

TEST_P(DriverGraphTest, KernelsOfOneGraphAgreeWithTheReference) {
  const std::vector<Work> all =
      WorkOf(*GetParam(), cuda::Precision::kStrict, cuda::GeneratedCases());
  const auto ptx = PtxOfWork(all, "compute_90");
  ASSERT_TRUE(ptx.ok()) << ptx.status();
  const auto library = runtime_.LoadLibrary(*ptx);
  ASSERT_TRUE(library.ok()) << library.error().message;
  cuda::FlatGraphBuilder builder(&runtime_);
  std::vector<cuda::HostOperands> operands;
  std::vector<Placed> placed;
  size_t launches = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    const auto kernel = runtime_.FindKernel(library.value(), EntryOf(all[i]).c_str());
    ASSERT_TRUE(kernel.ok()) << all[i].name << ": " << kernel.error().message;
    operands.push_back(OperandsOf(all[i]));
    placed.push_back(Place(all[i], operands.back()));
    const auto added = builder.AddOperation(all[i].name, [&](cuda::Stream stream) {
      return LaunchWork(all[i], kernel.value(), placed.back(), stream);
    });
    launches += static_cast<size_t>(all[i].kernel.launches);
    ASSERT_TRUE(added.ok()) << all[i].name << ": " << added.error().message;
  }
  const auto graph = builder.Build();
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(graph.value().nodes(), launches);
  ASSERT_TRUE(graph.value().Launch(stream_).ok());
  const cuda::Status ran = runtime_.Synchronize(stream_);
  ASSERT_TRUE(ran.ok()) << ran.error().message;
  for (size_t i = 0; i < all.size(); ++i) ExpectResult(all[i], operands[i], placed[i]);
  std::printf("%s: %zu kernels in one graph\n", GetParam()->name, all.size());
}

// The way that a GPU takes from a problem to a launch; only the code is PTX.
TEST_P(DriverGraphTest, ACandidateIsPreparedAndLaunchedByTheRuntime) {
  const std::vector<Work> all =
      WorkOf(*GetParam(), cuda::Precision::kStrict, cuda::GeneratedCases());
  const Work& work = all.front();
  cuda::CudaDevice device;
  device.present = true;
  device.runtime = &runtime_;
  auto candidates =
      cuda::kGeneratedSource.enumerate(work.problem, work.precision, work.layout, {}, device);
  ASSERT_TRUE(candidates.ok()) << candidates.error().message;
  ASSERT_FALSE(candidates.value().empty());
  const cuda::HostOperands host = OperandsOf(work);
  const Placed placed = Place(work, host);
  cuda::Operands operands;
  operands.inputs.resize(host.inputs.size());
  operands.outputs.resize(cuda::ShapeOf(work.problem).value().outputs.size());
  for (size_t i = 0; i < placed.size(); ++i) {
    const cuda::KernelArgument& argument = work.kernel.arguments[i];
    void* const pointer = placed[i];
    if (argument.kind == Kind::kInput) {
      if (operands.inputs.size() <= static_cast<size_t>(argument.index)) {
        operands.inputs.resize(argument.index + 1);
      }
      operands.inputs[argument.index] = pointer;
    }
    if (argument.kind == Kind::kWeights) operands.weights = pointer;
    if (argument.kind == Kind::kPackedWeights) operands.packed_weights = pointer;
    if (argument.kind == Kind::kSecondWeights) operands.second_weights = pointer;
    if (argument.kind == Kind::kBias) operands.bias = pointer;
    if (argument.kind == Kind::kSecondBias) operands.second_bias = pointer;
    if (argument.kind == Kind::kResidual) operands.residual = pointer;
    if (argument.kind == Kind::kOutput) operands.outputs[argument.index] = pointer;
    if (argument.kind == Kind::kWorkspace) operands.workspace = pointer;
  }
  cuda::Candidate& candidate = *candidates.value().front();
  const cuda::Status prepared = candidate.Prepare();
  ASSERT_TRUE(prepared.ok()) << prepared.error().message;
  const cuda::Status launched = candidate.Launch(operands, stream_);
  ASSERT_TRUE(launched.ok()) << launched.error().message;
  ExpectResult(work, host, placed);
}

INSTANTIATE_TEST_SUITE_P(Families, DriverGraphTest, testing::ValuesIn(cuda::GeneratedFamilies()),
                         [](const auto& info) { return std::string(info.param->name); });

}  // namespace
}  // namespace plait::simulated_gpu
