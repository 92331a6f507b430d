#include <cstdlib>

#include "gpu_worker/backends/cuda/cublaslt/source.h"
#include "gpu_worker/backends/cuda/cudnn/library.h"
#include "gpu_worker/backends/cuda/cudnn/source.h"
#include "gpu_worker/backends/cuda/driver/nvrtc.h"
#include "gpu_worker/backends/cuda/problem/reference_problem.h"
#include "gtest/gtest.h"
#include "tests/gpu_worker/simulated_gpu/library_fixture.h"

// The simulated driver and libraries as programs find them, by their sonames: ctest runs this with
// their folder in LD_LIBRARY_PATH.

namespace plait::simulated_gpu {
namespace {

constexpr int64_t kOperationsMax = int64_t{1} << 24;

class SonamesTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto library = cuda::DriverLibrary::Get();
    ASSERT_TRUE(library.ok()) << library.error().message;
    ASSERT_TRUE(library.value()->takes_ptx)
        << "run by ctest, or with LD_LIBRARY_PATH=build/simulated_gpu";
  }

  void Check(const cuda::CandidateSource& source, const char* name, int problems) {
    LibraryDevice device(nullptr, 0);
    int checked = 0;
    for (const LibraryCase& problem : LibraryCases()) {
      if (problem.name != name) continue;
      const auto candidates = device.List(source, problem);
      if (candidates.empty()) continue;
      const auto& candidate = candidates[0];
      ASSERT_TRUE(candidate->Prepare().ok());
      const LibraryOperands operands = device.Upload(problem, candidate->workspace_bytes());
      const auto outputs = device.Run(*candidate, problem, operands);
      ASSERT_TRUE(outputs.ok()) << outputs.error().message;
      const cuda::Difference difference = cuda::Compare(
          cuda::ComputeReference(problem.problem, cuda::ShapeOf(problem.problem).value(),
                                 problem.layout, operands.host, kOperationsMax, 1),
          outputs.value(), problem.precision);
      EXPECT_TRUE(cuda::Passes(difference, problem.problem, problem.precision));
      ++checked;
    }
    EXPECT_GE(checked, problems);
  }
};

TEST_F(SonamesTest, ThreeLibrariesAreOneDevice) {
  Check(cuda::kCudnnSource, "conv_bias_relu", 8);
  Check(cuda::kCublasLtSource, "gemm_bias", 4);
}

// NVRTC calls functions of the driver that it finds by its soname.
TEST_F(SonamesTest, NvrtcCompilesBesideThem) {
  const auto ptx =
      cuda::CompileToPtx("extern \"C\" __global__ void plait_kernel() {}", "compute_90");
  ASSERT_TRUE(ptx.ok()) << ptx.error().message;
  EXPECT_NE(ptx.value().find("plait_kernel"), std::string::npos);
}

// Compiled at run time, and so listed only where cuDNN finds a driver.
TEST_F(SonamesTest, AttentionHasEngines) { Check(cuda::kCudnnSource, "attention_mask", 2); }

// PLAIT_SIMULATED_FAULTS of ctest: an event cannot be made the first time.
TEST_F(SonamesTest, FaultsComeFromTheEnvironment) {
  ASSERT_NE(std::getenv("PLAIT_SIMULATED_FAULTS"), nullptr) << "run by ctest";
  LibraryDevice device(nullptr, 0);
  const auto first = device.runtime().CreateEvent();
  ASSERT_FALSE(first.ok());
  EXPECT_NE(first.error().message.find("cuEventCreate"), std::string::npos);
  EXPECT_TRUE(device.runtime().CreateEvent().ok());
}

}  // namespace
}  // namespace plait::simulated_gpu
