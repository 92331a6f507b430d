#include "bench/gpu/probe_kernels.h"

#include "gpu_worker/backends/cuda/driver/nvrtc.h"
#include "gtest/gtest.h"
#include "tests/gpu_worker/backends/cuda/recording_runtime.h"

namespace plait::cuda {
namespace {

TEST(ProbeKernelsTest, CompileForEveryArchitectureAndAreFoundByName) {
  if (!CompileToCubin("__global__ void f() {}", "sm_80").ok()) {
    GTEST_SKIP() << "libnvrtc.so.13 is not here";
  }
  for (const char* architecture : {"sm_80", "sm_90a", "sm_100"}) {
    const Result<std::string> cubin = CompileToCubin(ProbeSource(), architecture);
    ASSERT_TRUE(cubin.ok()) << cubin.error().message;
    for (const char* name : {"empty", "spin", "read", "producer", "consumer"}) {
      EXPECT_NE(cubin.value().find(std::string(".text.") + name), std::string::npos) << name;
    }
  }
  RecordingRuntime runtime;
  {
    const Result<LoadedProbes> probes = LoadProbeKernels(&runtime, "sm_90a");
    ASSERT_TRUE(probes.ok()) << probes.error().message;
    EXPECT_NE(probes.value().kernels.consumer, nullptr);
    EXPECT_EQ(runtime.Count("FindKernel"), 5);
  }
  EXPECT_EQ(runtime.Leaks(), std::vector<std::string>());
}

}  // namespace
}  // namespace plait::cuda
