#include "gpu_worker/backends/cuda/problem/difference.h"
#include "gtest/gtest.h"
#include "tests/gpu_worker/simulated_gpu/generated_work.h"

namespace plait::simulated_gpu {
namespace {

using cuda::Precision;
using Parameters = std::tuple<const cuda::GeneratedFamily*, Precision>;

class AlignmentTest : public testing::TestWithParam<Parameters> {};

// Kernels that are listed for operands at multiples of so many bytes run on just such operands.
TEST_P(AlignmentTest, KernelsKeepToThatOfTheirForm) {
  if (!HasNvrtc()) GTEST_SKIP() << "libnvrtc.so.13 is not here";
  const auto [family, precision] = GetParam();
  for (int64_t alignment_bytes : {4, 8}) {
    const std::vector<Work> all =
        WorkOf(*family, precision, cuda::GeneratedCases(), alignment_bytes);
    const auto module = CompileWork(all, "compute_90");
    ASSERT_TRUE(module.ok()) << module.status();
    for (size_t i = 0; i < all.size(); ++i) {
      const auto program = DecodeKernel(*module, EntryOf(i));
      ASSERT_TRUE(program.ok()) << all[i].name << ": " << program.status();
      const cuda::HostOperands operands = OperandsOf(all[i]);
      const auto run = RunWork(*program, all[i], operands, alignment_bytes, 1);
      ASSERT_TRUE(run.ok()) << all[i].name << " at " << alignment_bytes << ": " << run.status();
      const cuda::Difference difference =
          cuda::Compare(ReferenceOf(all[i], operands), run->outputs, precision);
      EXPECT_TRUE(cuda::Passes(difference, all[i].problem, precision)) << all[i].name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Families, AlignmentTest,
                         testing::Combine(testing::ValuesIn(cuda::GeneratedFamilies()),
                                          testing::Values(Precision::kStrict, Precision::kFp16)),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param)->name) + "_" +
                                  cuda::PrecisionName(std::get<1>(info.param));
                         });

}  // namespace
}  // namespace plait::simulated_gpu
