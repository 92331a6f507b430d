#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/gpu_worker/simulated_gpu/generated_work.h"

namespace plait::simulated_gpu {
namespace {

using cuda::Precision;
using Parameters = std::tuple<const cuda::GeneratedFamily*, Precision>;

class AlignmentTest : public testing::TestWithParam<Parameters> {};

// A kernel and the alignment that its form tells it.
struct Aligned {
  Work work;
  int64_t alignment_bytes;
};

// What is right at every multiple of 4 bytes is right at those of 8, and is listed once.
std::vector<Aligned> AlignedWorkOf(const cuda::GeneratedFamily& family, Precision precision) {
  std::vector<Aligned> all;
  std::set<std::string> known;
  for (int64_t alignment_bytes : {4, 8}) {
    for (Work& work : WorkOf(family, precision, cuda::GeneratedCases(), alignment_bytes)) {
      if (!known.insert(work.name + EntryOf(work)).second) continue;
      all.push_back({std::move(work), alignment_bytes});
    }
  }
  return all;
}

// Kernels that are listed for operands at multiples of so many bytes run on just such operands.
TEST_P(AlignmentTest, KernelsKeepToThatOfTheirForm) {
  if (!HasNvrtc()) GTEST_SKIP() << "libnvrtc.so.13 is not here";
  const auto [family, precision] = GetParam();
  const std::vector<Aligned> all = AlignedWorkOf(*family, precision);
  std::vector<Work> kernels;
  for (const Aligned& aligned : all) kernels.push_back(aligned.work);
  const auto module = CompileWork(kernels, "compute_90");
  ASSERT_TRUE(module.ok()) << module.status();
  for (const auto& [work, alignment_bytes] : all) {
    const auto program = DecodeKernel(*module, EntryOf(work));
    ASSERT_TRUE(program.ok()) << work.name << ": " << program.status();
    const Trial trial{OperandsOf(work)};
    const auto run = RunWork(*program, work, trial, {.address_offset = alignment_bytes});
    ASSERT_TRUE(run.ok()) << work.name << " at " << alignment_bytes << ": " << run.status();
    const absl::Status right = CheckRun(work, trial, ReferenceOf(work, trial.operands), *run);
    EXPECT_TRUE(right.ok()) << right;
  }
}

// bf16's texts are those of fp16 but for the conversions, and are left to a long run.
std::vector<Parameters> FormsOf(bool is_long) {
  std::vector<Parameters> forms = cuda::FamilyForms();
  std::erase_if(forms, [is_long](const Parameters& form) {
    return (std::get<1>(form) == Precision::kBf16) != is_long;
  });
  return forms;
}

std::string NameOfForm(const testing::TestParamInfo<Parameters>& info) {
  return std::string(std::get<0>(info.param)->name) + "_" +
         cuda::PrecisionName(std::get<1>(info.param));
}

INSTANTIATE_TEST_SUITE_P(Families, AlignmentTest, testing::ValuesIn(FormsOf(false)), NameOfForm);
INSTANTIATE_TEST_SUITE_P(Long, AlignmentTest, testing::ValuesIn(FormsOf(true)), NameOfForm);

}  // namespace
}  // namespace plait::simulated_gpu
