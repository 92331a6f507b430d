#include <cstdlib>
#include <string>

#include "gpu_worker/backends/cuda/driver/driver_runtime.h"
#include "gtest/gtest.h"
#include "tests/gpu_worker/backends/cuda/gpu/device_code.h"

namespace plait::cuda {
namespace {

constexpr char kSource[] = "extern \"C\" __global__ void touch(int* place) { *place = 1; }";
constexpr int kUnhealthy = 10;  // as a worker's exit code

Result<Kernel> MakeKernel(DriverRuntime& runtime) {
  const Result<DeviceFacts> facts = runtime.Describe();
  if (!facts.ok()) return facts.error();
  const Result<std::string> code = CompileForDevice(runtime, facts.value(), kSource);
  if (!code.ok()) return code.error();
  const Result<Library> library = runtime.LoadLibrary(code.value());
  if (!library.ok()) return library.error();
  return runtime.FindKernel(library.value(), "touch");
}

// Ends the process: with kUnhealthy where the device is lost to it for good.
[[noreturn]] void TouchNothing() {
  DriverRuntime runtime(0, nullptr);
  const Result<Kernel> kernel = MakeKernel(runtime);
  const Result<Stream> stream = runtime.CreateStream(0);
  if (!kernel.ok() || !stream.ok() || !runtime.CheckHealth().ok()) std::_Exit(1);
  void* nothing = nullptr;
  void* arguments[] = {&nothing};
  static_cast<void>(runtime.LaunchKernel(kernel.value(), {}, arguments, stream.value()).ok());
  const bool is_lost =
      !runtime.CheckHealth().ok() && !runtime.CheckHealth().ok() && !runtime.Allocate(256).ok();
  std::_Exit(is_lost ? kUnhealthy : 2);
}

// A worker asks after each task that failed, ends, and is started again: what it relies on.
TEST(StickyErrorDeathTest, IsReportedUntilTheProcessEnds) {
  {
    DriverRuntime runtime(0, nullptr);
    const Result<DeviceFacts> facts = runtime.Describe();
    if (!facts.ok()) GTEST_SKIP() << "skipped: no device: " << facts.error().message;
  }
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(TouchNothing(), testing::ExitedWithCode(kUnhealthy), "");
  // The next process has a device that works.
  DriverRuntime runtime(0, nullptr);
  EXPECT_TRUE(MakeKernel(runtime).ok());
  EXPECT_TRUE(runtime.CheckHealth().ok());
}

}  // namespace
}  // namespace plait::cuda
