#include <cmath>
#include <cstdio>

#include "gtest/gtest.h"
#include "tests/gpu_worker/backends/cuda/generated/emulation/emulate.h"
#include "tests/gpu_worker/simulated_gpu/all_cases.h"
#include "tests/gpu_worker/simulated_gpu/generated_work.h"

namespace plait::simulated_gpu {
namespace {

using cuda::Precision;

// What all tests of this file have run, printed at the end.
class Totals : public testing::Environment {
 public:
  void TearDown() override {
    std::printf("simulated GPU: %ld kernels, %ld runs, %ld instructions of warps, %ld of lanes\n",
                kernels, runs, instructions, lane_instructions);
  }
  int64_t kernels = 0, runs = 0, instructions = 0, lane_instructions = 0;
};
Totals* const totals = static_cast<Totals*>(testing::AddGlobalTestEnvironment(new Totals));

// The relative L2 distance of two results.
double Distance(const std::vector<std::vector<float>>& a,
                const std::vector<std::vector<float>>& b) {
  double error = 0, norm = 0;
  for (size_t o = 0; o < a.size(); ++o) {
    for (size_t i = 0; i < a[o].size(); ++i) {
      if (a[o][i] == b[o][i]) continue;
      error += (double{a[o][i]} - b[o][i]) * (double{a[o][i]} - b[o][i]);
    }
    for (float value : b[o]) norm += double{value} * value;
  }
  return error == 0 ? 0 : std::sqrt(error / norm);
}

using Parameters = std::tuple<const cuda::GeneratedFamily*, Precision>;

std::string NameOfParameters(const testing::TestParamInfo<Parameters>& info) {
  return std::string(std::get<0>(info.param)->name) + "_" +
         cuda::PrecisionName(std::get<1>(info.param));
}

class GeneratedPtxTest : public testing::TestWithParam<Parameters> {
 protected:
  // Runs a kernel at two places in memory, with two seeds, and expects what the reference says,
  // with the same bits from both.
  std::vector<std::vector<float>> Check(const Program& program, const Work& work,
                                        const cuda::HostOperands& operands) {
    const std::vector<cuda::ReferenceElement> reference = ReferenceOf(work, operands);
    std::vector<std::vector<float>> first;
    ++totals->kernels;
    for (int64_t address_offset : {0, 16}) {
      const auto run =
          RunWork(program, work, operands, address_offset, address_offset == 0 ? 1 : 2);
      EXPECT_TRUE(run.ok()) << work.name << " at " << address_offset << ": " << run.status();
      if (!run.ok()) continue;
      const cuda::Difference difference = cuda::Compare(reference, run->outputs, work.precision);
      EXPECT_EQ(difference.not_numbers, 0) << work.name;
      EXPECT_LE(difference.relative_l2, cuda::RelativeL2Max(work.problem, work.precision))
          << work.name;
      ++totals->runs;
      totals->instructions += run->report.instructions;
      totals->lane_instructions += run->report.lane_instructions;
      if (address_offset == 0) {
        first = run->outputs;
      } else {
        EXPECT_EQ(Distance(first, run->outputs), 0) << work.name;
      }
    }
    return first;
  }
};

// The emulation runs the same source, as the host's compiler reads it: a second opinion that shares
// nothing with the simulator but the source. Of the device's approximations both have their own.
TEST_P(GeneratedPtxTest, AgreesWithTheReferenceAndTheEmulation) {
  if (!HasNvrtc()) GTEST_SKIP() << "libnvrtc.so.13 is not here";
  const auto [family, precision] = GetParam();
  const std::vector<Work> all = WorkOf(*family, precision, AllCases());
  ASSERT_GE(all.size(), 2u) << family->name;
  const auto module = CompileWork(all, "compute_90");
  ASSERT_TRUE(module.ok()) << module.status();
  std::vector<cuda::EmulatedKernel> emulated;
  for (const Work& work : WorkOf(*family, precision, cuda::GeneratedCases())) {
    emulated.push_back({work.kernel, work.precision});
  }
  const auto emulation = cuda::Emulation::Compile(emulated);
  ASSERT_TRUE(emulation.ok()) << emulation.error().message;
  const double distance_max = precision == Precision::kStrict ? 2e-6
                              : precision == Precision::kFp16 ? 1e-3
                                                              : 8e-3;
  for (size_t i = 0; i < all.size(); ++i) {
    const auto program = DecodeKernel(*module, EntryOf(all[i]));
    ASSERT_TRUE(program.ok()) << all[i].name << ": " << program.status();
    const cuda::HostOperands operands = OperandsOf(all[i]);
    const auto outputs = Check(*program, all[i], operands);
    // Behind these come the cases that only the simulator runs.
    if (i >= emulated.size()) continue;
    const auto second = emulation.value().Run(i, cuda::ShapeOf(all[i].problem).value(), operands);
    ASSERT_TRUE(second.ok()) << all[i].name << ": " << second.error().message;
    EXPECT_LE(Distance(outputs, second.value()), distance_max) << all[i].name;
  }
}

// Without programmatic launches a text is another, which has nothing to do with the storage type.
class AmperePtxTest : public GeneratedPtxTest {};

TEST_P(AmperePtxTest, AgreesWithTheReference) {
  if (!HasNvrtc()) GTEST_SKIP() << "libnvrtc.so.13 is not here";
  const std::vector<Work> all =
      WorkOf(*std::get<0>(GetParam()), Precision::kStrict, cuda::GeneratedCases());
  const auto module = CompileWork(all, "compute_80");
  ASSERT_TRUE(module.ok()) << module.status();
  for (size_t i = 0; i < all.size(); ++i) {
    const auto program = DecodeKernel(*module, EntryOf(all[i]));
    ASSERT_TRUE(program.ok()) << all[i].name << ": " << program.status();
    Check(*program, all[i], OperandsOf(all[i]));
  }
}

INSTANTIATE_TEST_SUITE_P(Families, AmperePtxTest,
                         testing::Combine(testing::ValuesIn(cuda::GeneratedFamilies()),
                                          testing::Values(Precision::kStrict)),
                         NameOfParameters);

// Operands are promised to be aligned to 16 bytes. Where they are not, a kernel without vectors is
// right all the same, and every other is refused: nothing in between.
TEST_P(GeneratedPtxTest, RefusesOrComputesWhatIsAlignedToFourBytes) {
  if (!HasNvrtc()) GTEST_SKIP() << "libnvrtc.so.13 is not here";
  const auto [family, precision] = GetParam();
  const std::vector<Work> all = WorkOf(*family, precision, AllCases());
  const auto module = CompileWork(all, "compute_90");
  ASSERT_TRUE(module.ok()) << module.status();
  for (size_t i = 0; i < WorkOf(*family, precision, cuda::GeneratedCases()).size(); ++i) {
    const auto program = DecodeKernel(*module, EntryOf(all[i]));
    ASSERT_TRUE(program.ok()) << all[i].name << ": " << program.status();
    const cuda::HostOperands operands = OperandsOf(all[i]);
    const auto run = RunWork(*program, all[i], operands, 4, 1);
    ++totals->runs;
    if (!run.ok()) {
      EXPECT_NE(run.status().message().find("misaligned"), absl::string_view::npos)
          << all[i].name << ": " << run.status();
      continue;
    }
    const cuda::Difference difference =
        cuda::Compare(ReferenceOf(all[i], operands), run->outputs, precision);
    EXPECT_LE(difference.relative_l2, cuda::RelativeL2Max(all[i].problem, precision))
        << all[i].name;
  }
}

INSTANTIATE_TEST_SUITE_P(Families, GeneratedPtxTest, testing::ValuesIn(cuda::FamilyForms()),
                         NameOfParameters);

}  // namespace
}  // namespace plait::simulated_gpu
