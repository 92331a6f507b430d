#include "bench/simulated_gpu/ptxas_log.h"

#include "gpu_worker/backends/cuda/driver/nvrtc.h"
#include "gtest/gtest.h"

namespace plait {
namespace {

constexpr char kLog[] = R"(plait_kernel.cu(2): warning #177-D: variable "unused" was declared
Remark: The warnings can be suppressed with "-diag-suppress <warning-number>"

ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_ZN2k212plait_kernelEPf' for 'sm_90a'
ptxas info    : Function properties for _ZN2k212plait_kernelEPf
ptxas         .     24 bytes stack frame, 16 bytes spill stores, 20 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 24 bytes cumulative stack size, 400 bytes smem
ptxas info    : Compile time = 3.187 ms
ptxas info    : Function properties for f
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers, used 0 barriers, 360 bytes cmem[0]
)";

TEST(PtxasLogTest, SaysWhatEachKernelTakes) {
  const auto kernels = ReadPtxasLog(kLog);
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels.at("_ZN2k212plait_kernelEPf"), (KernelResources{255, 400, 24, 16, 20}));
  EXPECT_EQ(kernels.at("f"), (KernelResources{8, 0, 0, 0, 0}));
  EXPECT_EQ(WarningsOf(kLog),
            "plait_kernel.cu(2): warning #177-D: variable \"unused\" was declared\n");
  EXPECT_TRUE(ReadPtxasLog("").empty());
  EXPECT_TRUE(WarningsOf("").empty());
}

TEST(PtxasLogTest, OccupancyIsThatOfTheScarcest) {
  const Multiprocessor h200 = MultiprocessorOf("sm_90a");
  // 2,048 threads of 32 registers are all of them.
  EXPECT_EQ(OccupancyOf({.registers = 32}, 256, h200), 1);
  EXPECT_EQ(OccupancyOf({.registers = 33}, 256, h200), 6 * 256 / 2048.0);
  EXPECT_EQ(OccupancyOf({.registers = 255}, 256, h200), 256 / 2048.0);
  // 40 KiB and 1 more are five blocks of 228.
  EXPECT_EQ(OccupancyOf({.registers = 32, .shared_bytes = 40 << 10}, 128, h200), 5 * 128 / 2048.0);
  // No more than 32 blocks, nor than there is memory for.
  EXPECT_EQ(OccupancyOf({.registers = 16}, 32, h200), 0.5);
  EXPECT_EQ(OccupancyOf({.registers = 16, .shared_bytes = 300 << 10}, 32, h200), 0);
  EXPECT_EQ(OccupancyOf({.registers = 16}, 32, MultiprocessorOf("sm_1")), 0);
}

TEST(PtxasLogTest, NvrtcWritesWhatIsRead) {
  const auto compiled = cuda::CompileToCubinWithLog(
      "__global__ void f(float* x) { __shared__ float s[64]; s[threadIdx.x] = x[threadIdx.x];"
      " __syncthreads(); x[threadIdx.x] = s[63 - threadIdx.x]; }",
      "sm_89");
  if (!compiled.ok()) GTEST_SKIP() << "libnvrtc.so.13 is not here";
  EXPECT_EQ(compiled.value().cubin.substr(1, 3), "ELF");
  const auto kernels = ReadPtxasLog(compiled.value().log);
  ASSERT_EQ(kernels.size(), 1u) << compiled.value().log;
  EXPECT_EQ(kernels.begin()->second.shared_bytes, 256);
  EXPECT_GT(kernels.begin()->second.registers, 0);
  EXPECT_EQ(kernels.begin()->second.stack_bytes, 0);
  EXPECT_EQ(WarningsOf(compiled.value().log), "");
}

}  // namespace
}  // namespace plait
