// The generated kernels of all conformance cases on the GPU that is here, each twice: right by the
// reference, with the same bits wherever its operands lie and in a graph, and nothing written
// beside its outputs. Without a driver every test says that it is skipped. A simulated driver is
// taken for a GPU as well, which tries this file.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>

#include "gpu_worker/backends/cuda/driver/driver_runtime.h"
#include "gpu_worker/backends/cuda/driver/graph_builder.h"
#include "gpu_worker/backends/cuda/driver/owned.h"
#include "gpu_worker/backends/cuda/driver/staging.h"
#include "gpu_worker/backends/cuda/problem/difference.h"
#include "gpu_worker/backends/cuda/problem/problem_shape.h"
#include "gtest/gtest.h"
#include "tests/gpu_worker/backends/cuda/gpu/device_code.h"
#include "tests/gpu_worker/simulated_gpu/all_cases.h"
#include "tests/gpu_worker/simulated_gpu/generated_work.h"

namespace plait::cuda {
namespace {

using simulated_gpu::Work;
using Kind = KernelArgument::Kind;
using Outputs = std::vector<std::vector<float>>;

// Of one compilation: a module of all kernels of a family would occupy one processor for minutes.
constexpr size_t kKernelsOfModule = 12;
constexpr size_t kStagingBytes = size_t{1} << 20;
// In front of each operand and behind it, and what they hold: a NaN in every type.
constexpr size_t kGuardBytes = 512;
constexpr int kGuardByte = 0xff;

// The GPU, once for all tests.
struct Gpu {
  DriverRuntime runtime{0, nullptr};
  DeviceFacts facts;
  OwnedStream stream;
  std::unique_ptr<Staging> staging;
};

Result<std::unique_ptr<Gpu>> OpenGpu() {
  auto gpu = std::make_unique<Gpu>();
  Result<DeviceFacts> facts = gpu->runtime.Describe();
  if (!facts.ok()) return facts.error();
  gpu->facts = std::move(facts).value();
  const Result<Stream> stream = gpu->runtime.CreateStream(0);
  if (!stream.ok()) return stream.error();
  gpu->stream = OwnedStream(&gpu->runtime, stream.value());
  Result<std::unique_ptr<Staging>> staging = Staging::Make(&gpu->runtime, kStagingBytes);
  if (!staging.ok()) return staging.error();
  gpu->staging = std::move(staging).value();
  std::printf("GPU: %s\n", gpu->facts.name.c_str());
  return gpu;
}

const Result<std::unique_ptr<Gpu>>& TheGpu() {
  static auto* const gpu = new Result<std::unique_ptr<Gpu>>(OpenGpu());
  return *gpu;
}

struct Module {
  std::vector<Work> work;
  Result<std::string> code = Error{};
};

// On all of the host's processors.
std::vector<Module> Compile(Gpu& gpu, const std::vector<Work>& all) {
  std::vector<Module> modules;
  for (size_t i = 0; i < all.size(); ++i) {
    if (i % kKernelsOfModule == 0) modules.emplace_back();
    modules.back().work.push_back(all[i]);
  }
  std::atomic<size_t> next = 0;
  const auto compile = [&] {
    for (size_t i = next++; i < modules.size(); i = next++) {
      modules[i].code =
          CompileForDevice(gpu.runtime, gpu.facts, simulated_gpu::SourceOfWork(modules[i].work));
    }
  };
  std::vector<std::jthread> threads;
  const size_t processors = std::max(1u, std::thread::hardware_concurrency());
  for (size_t t = 0; t < std::min(processors, modules.size()); ++t) threads.emplace_back(compile);
  threads.clear();
  return modules;
}

// An operand between two guards, at so many bytes behind a multiple of 256.
class Operand {
 public:
  static Result<Operand> Make(Gpu& gpu, size_t bytes, size_t offset) {
    const size_t all = kGuardBytes + offset + bytes + kGuardBytes;
    const Result<void*> memory = gpu.runtime.Allocate(all);
    if (!memory.ok()) return memory.error();
    PLAIT_CUDA_RETURN_IF_ERROR(gpu.runtime.Fill(memory.value(), kGuardByte, all, gpu.stream.get()));
    return Operand(OwnedMemory(&gpu.runtime, memory.value()), bytes, kGuardBytes + offset, all);
  }

  void* data() const { return static_cast<std::byte*>(memory_.get()) + begin_; }

  // What lies in it. Errors: kInternal where a guard was written.
  Result<std::vector<std::byte>> Download(Gpu& gpu) const {
    std::vector<std::byte> bytes(all_bytes_);
    PLAIT_CUDA_RETURN_IF_ERROR(
        gpu.staging->Download(bytes.data(), memory_.get(), bytes.size(), gpu.stream.get()));
    const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(begin_);
    const auto end = begin + static_cast<std::ptrdiff_t>(bytes_);
    const auto is_guard = [](std::byte byte) { return byte == std::byte{kGuardByte}; };
    if (!std::all_of(bytes.begin(), begin, is_guard) || !std::all_of(end, bytes.end(), is_guard)) {
      return Error{ErrorCode::kInternal, "something was written beside an operand"};
    }
    return std::vector<std::byte>(begin, end);
  }

 private:
  Operand(OwnedMemory memory, size_t bytes, size_t begin, size_t all_bytes)
      : memory_(std::move(memory)), bytes_(bytes), begin_(begin), all_bytes_(all_bytes) {}

  OwnedMemory memory_;
  size_t bytes_;
  size_t begin_;
  size_t all_bytes_;
};

// Null for what is no operand of the problem. Errors: kDevice.
Result<std::vector<Operand>> Upload(Gpu& gpu, const Work& work, const HostOperands& host,
                                    size_t offset) {
  const Result<ProblemShape> shape = ShapeOf(work.problem);
  if (!shape.ok()) return shape.error();
  std::vector<Operand> operands;
  for (const KernelArgument& argument : work.kernel.arguments) {
    if (argument.kind > Kind::kOutput) continue;
    const auto element = static_cast<size_t>(ElementBytes(argument.type, work.precision));
    std::vector<std::byte> bytes;
    if (argument.kind == Kind::kOutput) {
      bytes.assign(static_cast<size_t>(shape.value().outputs[argument.index]) * element,
                   std::byte{kGuardByte});
    } else {
      bytes = simulated_gpu::BytesOf(argument, host, work.precision);
    }
    Result<Operand> operand = Operand::Make(gpu, bytes.size(), offset / element * element);
    if (!operand.ok()) return operand.error();
    PLAIT_CUDA_RETURN_IF_ERROR(
        gpu.staging->Upload(operand.value().data(), bytes.data(), bytes.size(), gpu.stream.get()));
    operands.push_back(std::move(operand).value());
  }
  return operands;
}

// Every launch of a work, on any stream. What `addresses` point to is read when it is called.
Status LaunchSteps(Gpu& gpu, Kernel kernel, const Work& work, std::vector<void*>& addresses,
                   Stream stream) {
  int step = 0;
  std::vector<void*> arguments;
  for (size_t i = 0; i < addresses.size(); ++i) {
    const bool is_step = work.kernel.arguments[i].kind == Kind::kStep;
    arguments.push_back(is_step ? static_cast<void*>(&step) : &addresses[i]);
  }
  for (; step < work.kernel.launches; ++step) {
    PLAIT_CUDA_RETURN_IF_ERROR(gpu.runtime.LaunchKernel(
        kernel, {.grid = work.kernel.grid, .block = work.kernel.block}, arguments.data(), stream));
  }
  return Ok();
}

// The same as the nodes of a graph. Errors: also kInternal where it has not one for each launch.
Status LaunchGraph(Gpu& gpu, Kernel kernel, const Work& work, std::vector<void*>& addresses) {
  FlatGraphBuilder builder(&gpu.runtime);
  const Result<int> added = builder.AddOperation(
      work.name, [&](Stream stream) { return LaunchSteps(gpu, kernel, work, addresses, stream); });
  if (!added.ok()) return added.error();
  const Result<ExecutableGraph> graph = builder.Build();
  if (!graph.ok()) return graph.error();
  if (graph.value().nodes() != static_cast<size_t>(work.kernel.launches)) {
    return Error{ErrorCode::kInternal,
                 "a graph of " + std::to_string(graph.value().nodes()) + " nodes"};
  }
  PLAIT_CUDA_RETURN_IF_ERROR(graph.value().Launch(gpu.stream.get()));
  return gpu.runtime.Synchronize(gpu.stream.get());
}

enum class Launching { kOneByOne, kInGraph };

Result<Outputs> Run(Gpu& gpu, Kernel kernel, const Work& work, const HostOperands& host,
                    size_t offset, Launching launching) {
  Result<std::vector<Operand>> operands = Upload(gpu, work, host, offset);
  if (!operands.ok()) return operands.error();
  const Result<Operand> workspace =
      Operand::Make(gpu, std::max<size_t>(work.kernel.workspace_bytes, 1), 0);
  if (!workspace.ok()) return workspace.error();
  std::vector<void*> addresses;
  for (const KernelArgument& argument : work.kernel.arguments) {
    const bool is_operand = argument.kind <= Kind::kOutput;
    addresses.push_back(is_operand ? operands.value()[addresses.size()].data() : nullptr);
    if (argument.kind == Kind::kWorkspace) addresses.back() = workspace.value().data();
  }
  PLAIT_CUDA_RETURN_IF_ERROR(launching == Launching::kInGraph
                                 ? LaunchGraph(gpu, kernel, work, addresses)
                                 : LaunchSteps(gpu, kernel, work, addresses, gpu.stream.get()));
  PLAIT_CUDA_RETURN_IF_ERROR(workspace.value().Download(gpu));
  Outputs outputs;
  for (size_t i = 0; i < operands.value().size(); ++i) {
    const Result<std::vector<std::byte>> bytes = operands.value()[i].Download(gpu);
    if (!bytes.ok()) return bytes.error();
    const KernelArgument& argument = work.kernel.arguments[i];
    if (argument.kind != Kind::kOutput) continue;
    outputs.resize(std::max(outputs.size(), static_cast<size_t>(argument.index) + 1));
    const int64_t element = ElementBytes(argument.type, work.precision);
    outputs[argument.index] =
        FromStorage(bytes.value().data(), bytes.value().size() / static_cast<size_t>(element),
                    argument.type, work.precision);
  }
  return outputs;
}

void Check(Gpu& gpu, Kernel kernel, const Work& work) {
  const HostOperands host = simulated_gpu::OperandsOf(work);
  const Result<Outputs> first = Run(gpu, kernel, work, host, 0, Launching::kOneByOne);
  ASSERT_TRUE(first.ok()) << work.name << ": " << first.error().message;
  const Difference difference =
      Compare(simulated_gpu::ReferenceOf(work, host), first.value(), work.precision);
  EXPECT_EQ(difference.not_numbers, 0) << work.name;
  EXPECT_TRUE(Passes(difference, work.problem, work.precision))
      << work.name << ": " << difference.relative_l2 << ", " << difference.largest;
  const Result<Outputs> second = Run(gpu, kernel, work, host, 16, Launching::kInGraph);
  ASSERT_TRUE(second.ok()) << work.name << ": " << second.error().message;
  EXPECT_EQ(first.value(), second.value()) << work.name;
}

using FamilyPrecision = std::tuple<const GeneratedFamily*, Precision>;

std::string NameOfParameters(const testing::TestParamInfo<FamilyPrecision>& info) {
  return std::string(std::get<0>(info.param)->name) + "_" + PrecisionName(std::get<1>(info.param));
}

class GpuConformanceTest : public testing::TestWithParam<FamilyPrecision> {};

TEST_P(GpuConformanceTest, AgreesWithTheReference) {
  if (!TheGpu().ok()) GTEST_SKIP() << "skipped: no device: " << TheGpu().error().message;
  Gpu& gpu = *TheGpu().value();
  const auto [family, precision] = GetParam();
  const std::vector<Work> all =
      simulated_gpu::WorkOf(*family, precision, simulated_gpu::AllCases());
  ASSERT_GE(all.size(), 2u);
  for (const Module& module : Compile(gpu, all)) {
    ASSERT_TRUE(module.code.ok()) << module.code.error().message;
    const Result<Library> library = gpu.runtime.LoadLibrary(module.code.value());
    ASSERT_TRUE(library.ok()) << library.error().message;
    const OwnedLibrary owned(&gpu.runtime, library.value());
    for (size_t i = 0; i < module.work.size(); ++i) {
      const Result<Kernel> kernel =
          gpu.runtime.FindKernel(library.value(), simulated_gpu::EntryOf(module.work[i]).c_str());
      ASSERT_TRUE(kernel.ok()) << module.work[i].name << ": " << kernel.error().message;
      Check(gpu, kernel.value(), module.work[i]);
      // What follows would fail with it.
      const Status health = gpu.runtime.CheckHealth();
      ASSERT_TRUE(health.ok()) << module.work[i].name << ": " << health.error().message;
    }
  }
  RecordProperty("kernels", static_cast<int>(all.size()));
}

INSTANTIATE_TEST_SUITE_P(Families, GpuConformanceTest, testing::ValuesIn(FamilyForms()),
                         NameOfParameters);

}  // namespace
}  // namespace plait::cuda
