#include <atomic>
#include <thread>

#include "gpu_worker/backends/cuda/driver/owned.h"
#include "gtest/gtest.h"
#include "tests/gpu_worker/simulated_gpu/driver_fixture.h"

// What the runtime answers when a function of the driver fails or hangs, for each of them.

namespace plait::simulated_gpu {
namespace {

using cuda::Result;
using cuda::Runtime;
using cuda::Status;

// Unwraps a Result in functions that return a Status.
#define PLAIT_TAKE(target, expression)                       \
  auto target##_result = (expression);                       \
  if (!target##_result.ok()) return target##_result.error(); \
  auto target = std::move(target##_result).value()

// Captures a fill, a copy and a kernel, joins two operations by a barrier, and runs the graph.
Status UseGraphs(Runtime& runtime, cuda::Kernel kernel, void* x, void* y, cuda::Stream stream) {
  cuda::FlatGraphBuilder builder(&runtime);
  const auto all = [&](cuda::Stream captured) -> Status {
    PLAIT_CUDA_RETURN_IF_ERROR(runtime.Fill(y, 1, 256, captured));
    PLAIT_CUDA_RETURN_IF_ERROR(runtime.CopyOnDevice(y, x, 256, captured));
    void* arguments[] = {&x, &x, &y};
    return runtime.LaunchKernel(kernel, {.grid = {2, 1, 1}, .block = {32, 1, 1}}, arguments,
                                captured);
  };
  PLAIT_TAKE(operation, builder.AddOperation("all", all));
  PLAIT_TAKE(nothing, builder.AddOperation("nothing", [](cuda::Stream) { return cuda::Ok(); }));
  builder.SetPriority(operation, -1);
  PLAIT_CUDA_RETURN_IF_ERROR(builder.AddEdge(operation, nothing, cuda::EdgeReason::kData));
  PLAIT_TAKE(descriptions, builder.Describe(operation));
  PLAIT_TAKE(graph, builder.Build());
  PLAIT_CUDA_RETURN_IF_ERROR(graph.Upload(stream));
  PLAIT_CUDA_RETURN_IF_ERROR(graph.Launch(stream));
  return runtime.Synchronize(stream);
}

Status UseEvents(Runtime& runtime, cuda::Stream stream) {
  PLAIT_TAKE(begin, runtime.CreateEvent());
  const cuda::OwnedEvent owned(&runtime, begin);
  PLAIT_TAKE(end, runtime.CreateEvent());
  PLAIT_CUDA_RETURN_IF_ERROR(runtime.RecordEvent(begin, stream));
  PLAIT_CUDA_RETURN_IF_ERROR(runtime.WaitForEvent(stream, begin));
  PLAIT_CUDA_RETURN_IF_ERROR(runtime.RecordEvent(end, stream));
  PLAIT_CUDA_RETURN_IF_ERROR(runtime.Synchronize(stream));
  PLAIT_TAKE(us, runtime.ElapsedUs(begin, end));
  return us > 0 ? runtime.DestroyEvent(end)
                : Status(cuda::Error{cuda::ErrorCode::kInternal, "no time has passed"});
}

Status UseMemory(Runtime& runtime, cuda::Kernel kernel, cuda::Stream stream) {
  PLAIT_TAKE(x, runtime.Allocate(256));
  PLAIT_TAKE(y, runtime.Allocate(256));
  PLAIT_TAKE(host, runtime.AllocateHost(256));
  Status status = [&]() -> Status {
    PLAIT_CUDA_RETURN_IF_ERROR(runtime.CopyToDevice(x, host, 256, stream));
    PLAIT_CUDA_RETURN_IF_ERROR(UseGraphs(runtime, kernel, x, y, stream));
    PLAIT_CUDA_RETURN_IF_ERROR(runtime.CopyToHost(host, y, 256, stream));
    return runtime.Synchronize(stream);
  }();
  const Status freed[] = {runtime.FreeHost(host), runtime.Free(x), runtime.Free(y)};
  for (const Status& one : freed) {
    if (status.ok()) status = one;
  }
  return status;
}

// Calls everything that the runtime has, and thereby every function of the driver.
Status UseAll(Runtime& runtime) {
  PLAIT_TAKE(facts, runtime.Describe());
  PLAIT_TAKE(stream, runtime.CreateStream(-1));
  PLAIT_TAKE(library, runtime.LoadLibrary(KernelsOfTests()));
  PLAIT_TAKE(kernel, runtime.FindKernel(library, "mix"));
  PLAIT_CUDA_RETURN_IF_ERROR(UseEvents(runtime, stream));
  PLAIT_CUDA_RETURN_IF_ERROR(UseMemory(runtime, kernel, stream));
  PLAIT_CUDA_RETURN_IF_ERROR(runtime.UnloadLibrary(library));
  PLAIT_CUDA_RETURN_IF_ERROR(runtime.DestroyStream(stream));
  return runtime.CheckHealth();
}

// All but those by which errors get their words.
const char* const kFunctions[] = {
#define PLAIT_DRIVER_FUNCTION(name) #name,
#include "gpu_worker/backends/cuda/driver/driver_functions.def"
#undef PLAIT_DRIVER_FUNCTION
};

class FaultTest : public testing::TestWithParam<const char*> {
 protected:
  // What a destructor gives back: it has nobody to tell.
  static bool IsTold(const std::string& function) {
    return function != "cuDevicePrimaryCtxRelease" && function != "cuGraphDestroy" &&
           function != "cuGraphExecDestroy";
  }
  static Fault MakeFault(const std::string& function, Fault::Kind kind) {
    // Of the first calls nobody hears: CheckHealth() looks at the second, and a builder gives its
    // stream back in silence.
    const bool second = function == "cuCtxSynchronize" || function == "cuStreamDestroy";
    return {function, kind, second ? 1 : 0};
  }
  // The runtime's words about a call, "cuInit: CUDA_ERROR_...", without the name of the operation
  // that a builder puts in front.
  static std::string Answer(SimulatedDriver& driver) {
    cuda::DriverRuntime runtime(0, &driver.library());
    const Status status = UseAll(runtime);
    const std::string message = status.ok() ? "" : status.error().message;
    return message.rfind("all: ", 0) == 0 ? message.substr(5) : message;
  }
};

TEST_P(FaultTest, AnErrorIsToldOnceAndIsOver) {
  for (const auto& [kind, name] : {std::pair(Fault::Kind::kError, "CUDA_ERROR_UNKNOWN (999)"),
                                   {Fault::Kind::kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY (2)"}}) {
    SimulatedDriver driver;
    driver.faults().Add(MakeFault(GetParam(), kind));
    const std::string expected = std::string(GetParam()) + ": " + name;
    EXPECT_EQ(Answer(driver).substr(0, expected.size()),
              IsTold(GetParam()) ? expected : std::string());
    EXPECT_EQ(Answer(driver), "") << "nothing is left of it";
    EXPECT_TRUE(driver.violations().empty());
  }
}

TEST_P(FaultTest, AStickyErrorStays) {
  SimulatedDriver driver;
  driver.faults().Add(MakeFault(GetParam(), Fault::Kind::kSticky));
  const std::string first = Answer(driver);
  const std::string code = "CUDA_ERROR_ILLEGAL_ADDRESS (700)";
  if (IsTold(GetParam())) {
    EXPECT_EQ(first.find(std::string(GetParam()) + ": " + code), 0u) << first;
  } else if (std::string(GetParam()) != "cuDevicePrimaryCtxRelease") {
    EXPECT_NE(first.find(code), std::string::npos) << first;
  }
  const std::string second = Answer(driver);
  EXPECT_NE(second.find(code), std::string::npos) << second;
  cuda::DriverRuntime runtime(0, &driver.library());
  EXPECT_FALSE(runtime.CheckHealth().ok());
}

TEST_P(FaultTest, AHangEndsWhenItIsTold) {
  SimulatedDriver driver;
  driver.faults().Add(MakeFault(GetParam(), Fault::Kind::kHang));
  std::atomic<bool> has_ended = false;
  std::string answer = "none";
  std::thread thread([&] {
    answer = Answer(driver);
    has_ended = true;
  });
  while (driver.faults().hanging() == 0 && !has_ended) std::this_thread::yield();
  EXPECT_EQ(driver.faults().hanging(), 1);
  EXPECT_FALSE(has_ended);
  driver.faults().StopHanging();
  thread.join();
  EXPECT_EQ(answer, "");
}

std::vector<const char*> FailingFunctions() {
  std::vector<const char*> functions;
  for (const char* function : kFunctions) {
    if (std::string(function).find("cuGetError") == std::string::npos) {
      functions.push_back(function);
    }
  }
  return functions;
}

INSTANTIATE_TEST_SUITE_P(Functions, FaultTest, testing::ValuesIn(FailingFunctions()),
                         [](const auto& info) { return std::string(info.param); });

// The runtime needs memory to go on, and gives back what it had when there is none.
TEST(MemoryTest, ThereIsAsMuchAsTheDeviceHas) {
  DriverOptions options;
  options.devices = {{.name = "small", .memory_bytes = 1000}};
  SimulatedDriver driver(options);
  cuda::DriverRuntime runtime(0, &driver.library());
  EXPECT_EQ(runtime.Describe().value().memory_bytes, 1000);
  const Result<void*> first = runtime.Allocate(600);
  ASSERT_TRUE(first.ok());
  EXPECT_NE(runtime.Allocate(600).error().message.find("CUDA_ERROR_OUT_OF_MEMORY"),
            std::string::npos);
  EXPECT_TRUE(runtime.Free(first.value()).ok());
  const Result<void*> second = runtime.Allocate(1000);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(driver.Leaks(), (std::vector<std::string>{"1 retained contexts", "1 allocations"}));
  EXPECT_TRUE(runtime.Free(second.value()).ok());
}

}  // namespace
}  // namespace plait::simulated_gpu
