#include "gpu_worker/backends/cuda/driver/driver_runtime.h"
#include "gtest/gtest.h"
#include "tests/gpu_worker/simulated_gpu/driver_fixture.h"

namespace plait::simulated_gpu {
namespace {

// The library is opened as the driver is, by dlopen, and has a driver of its own.
TEST(SimulatedLibcudaTest, RunsAKernelForWhoeverOpensIt) {
#ifndef PLAIT_SIMULATED_LIBCUDA
  GTEST_SKIP() << "not built with a sanitizer";
#else
  const auto library = cuda::DriverLibrary::Open({PLAIT_SIMULATED_LIBCUDA});
  ASSERT_TRUE(library.ok()) << library.error().message;
  EXPECT_TRUE(library.value().takes_ptx);
  cuda::DriverRuntime runtime(1, &library.value());
  EXPECT_TRUE(runtime.TakesPtx());
  EXPECT_EQ(runtime.Describe().value().name, "simulated sm_80");
  const cuda::Stream stream = runtime.CreateStream(0).value();
  void* z = runtime.Allocate(256).value();
  void* x = runtime.Allocate(256).value();
  auto* host = static_cast<uint32_t*>(runtime.AllocateHost(256).value());
  const cuda::Library loaded = runtime.LoadLibrary(KernelsOfTests()).value();
  const cuda::Kernel kernel = runtime.FindKernel(loaded, "mix").value();
  void* arguments[] = {&x, &x, &z};
  ASSERT_TRUE(runtime.Fill(x, 1, 256, stream).ok());
  ASSERT_TRUE(
      runtime.LaunchKernel(kernel, {.grid = {2, 1, 1}, .block = {32, 1, 1}}, arguments, stream)
          .ok());
  ASSERT_TRUE(runtime.CopyToHost(host, z, 256, stream).ok());
  ASSERT_TRUE(runtime.Synchronize(stream).ok());
  EXPECT_EQ(host[63], 4 * 0x01010101u);
#endif
}

}  // namespace
}  // namespace plait::simulated_gpu
