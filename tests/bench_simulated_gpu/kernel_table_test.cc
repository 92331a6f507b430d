#include "bench/simulated_gpu/kernel_table.h"

#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "gpu_worker/backends/cuda/driver/nvrtc.h"
#include "gpu_worker/backends/cuda/generated/kernel.h"
#include "gpu_worker/backends/cuda/problem/problem_shape.h"
#include "optimizer/cost/occupancy.h"
#include "tests/files/source_path.h"

namespace plait {
namespace {

TEST(KernelTableTest, TheTableIsWhatPtxasSays) {
  const auto version = cuda::NvrtcVersion();
  if (!version.ok() || version.value() != kTableNvrtcVersion) {
    GTEST_SKIP() << "NVRTC " << kTableNvrtcVersion << " is not here";
  }
  std::ifstream file(SourcePath("optimizer/cost/generated_kernels.def"));
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const absl::StatusOr<std::string> table = GeneratedKernelTable();
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(text, *table);
}

TEST(KernelTableTest, EveryFamilyHasAProblem) {
  std::set<std::string> missing;
  for (const cuda::GeneratedFamily* family : cuda::GeneratedFamilies())
    missing.insert(family->name);
  for (const UsualProblem& usual : UsualProblems()) {
    ASSERT_TRUE(cuda::ShapeOf(usual.problem).ok()) << cuda::ProblemName(usual.problem);
    for (const cuda::GeneratedFamily* family : cuda::GeneratedFamilies()) {
      const auto kernels = family->generate(usual.problem, cuda::Precision::kStrict, usual.layout);
      if (!kernels.empty()) missing.erase(family->name);
    }
  }
  EXPECT_TRUE(missing.empty()) << *missing.begin();
}

}  // namespace
}  // namespace plait
