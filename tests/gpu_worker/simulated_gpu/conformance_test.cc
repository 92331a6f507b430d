#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <set>

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

std::vector<cuda::FamilyForm> FormsButStrict() {
  std::vector<cuda::FamilyForm> forms = cuda::FamilyForms();
  std::erase_if(forms, [](const auto& form) { return std::get<1>(form) == Precision::kStrict; });
  return forms;
}

// Where a kernel's operands lie behind multiples of 256 bytes.
constexpr int64_t kPlaces[] = {0, 16};

class GeneratedPtxTest : public testing::TestWithParam<Parameters> {
 protected:
  // Runs a kernel at two places in memory, with two seeds, and expects what the reference says,
  // with the same bits from both.
  std::vector<std::vector<float>> Check(const Program& program, const Work& work,
                                        const Trial& trial) {
    const std::vector<cuda::ReferenceElement> reference = ReferenceOf(work, trial.operands);
    std::vector<std::vector<float>> first;
    ++totals->kernels;
    uint64_t seed = 0;
    for (const int64_t place : kPlaces) {
      const auto run = RunWork(program, work, trial, {.address_offset = place, .seed = ++seed});
      EXPECT_TRUE(run.ok()) << work.name << " at " << place << ": " << run.status();
      if (!run.ok()) continue;
      const absl::Status right = CheckRun(work, trial, reference, *run);
      EXPECT_TRUE(right.ok()) << right;
      ++totals->runs;
      totals->instructions += run->report.instructions;
      totals->lane_instructions += run->report.lane_instructions;
      if (place == kPlaces[0]) first = run->outputs;
      EXPECT_EQ(Distance(first, run->outputs), 0) << work.name;
    }
    return first;
  }
};

// What the tests below run, each at every place: they skip none of it.
TEST(ConformanceCasesTest, AreThousandsAndOfEveryFamily) {
  int64_t runs = 0;
  for (const auto& [family, precision] : cuda::FamilyForms()) {
    const std::vector<Work> all = WorkOf(*family, precision, AllCases());
    const std::vector<Work> odd = WorkOf(*family, precision, OddCases());
    EXPECT_FALSE(odd.empty()) << family->name << " " << cuda::PrecisionName(precision);
    EXPECT_GT(all.size(), odd.size()) << family->name << " " << cuda::PrecisionName(precision);
    runs += std::ssize(all) * std::ssize(kPlaces);
  }
  EXPECT_GE(runs, 1000);
  std::printf("%ld kernels and places\n", runs);
}

// Half of the compiler's time goes into the odd kernels of 16 bits, whose texts are those of fp32
// but for the conversions. They are left to a long run, which is told.
bool EmulatesOddCases(Precision precision) {
  return cuda::ElementBytes(precision) == 4 || std::getenv("PLAIT_EMULATE_ALL") != nullptr;
}

// The kernels of a family by the emulation, in two libraries: the first is that of the emulation's
// own tests, and compiled once for both.
class EmulatedWork {
 public:
  static cuda::Result<EmulatedWork> Compile(const cuda::GeneratedFamily& family,
                                            Precision precision) {
    EmulatedWork emulated;
    std::vector<std::vector<cuda::GeneratedCase>> libraries = {cuda::GeneratedCases()};
    if (EmulatesOddCases(precision)) libraries.push_back(OddCases());
    for (const std::vector<cuda::GeneratedCase>& cases : libraries) {
      std::vector<cuda::EmulatedKernel> kernels;
      for (Work& work : WorkOf(family, precision, cases)) {
        kernels.push_back({std::move(work.kernel), precision});
      }
      cuda::Result<cuda::Emulation> library = cuda::Emulation::Compile(kernels);
      if (!library.ok()) return library.error();
      for (size_t i = 0; i < kernels.size(); ++i) {
        emulated.kernels_.emplace_back(emulated.libraries_.size(), i);
      }
      emulated.libraries_.push_back(std::move(library).value());
    }
    return emulated;
  }

  size_t size() const { return kernels_.size(); }
  // `number`: among WorkOf() of all cases. REQUIRES: number < size().
  cuda::Result<std::vector<std::vector<float>>> Run(size_t number, const Work& work,
                                                    const cuda::HostOperands& operands) const {
    const auto& [library, kernel] = kernels_[number];
    return libraries_[library].Run(kernel, cuda::ShapeOf(work.problem).value(), operands);
  }

 private:
  std::vector<cuda::Emulation> libraries_;
  std::vector<std::pair<size_t, size_t>> kernels_;  // library, and number in there
};

// The emulation runs the same source, as the host's compiler reads it: a second opinion that shares
// nothing with the simulator but the source. Of the device's approximations both have their own.
TEST_P(GeneratedPtxTest, AgreesWithTheReferenceAndTheEmulation) {
  if (!HasNvrtc()) GTEST_SKIP() << "libnvrtc.so.13 is not here";
  const auto [family, precision] = GetParam();
  const std::vector<Work> all = WorkOf(*family, precision, AllCases());
  const auto module = CompileWork(all, "compute_90");
  ASSERT_TRUE(module.ok()) << module.status();
  const auto emulation = EmulatedWork::Compile(*family, precision);
  ASSERT_TRUE(emulation.ok()) << emulation.error().message;
  // Both round alike to TF32, and then add in another order.
  const double distance_max = precision == Precision::kStrict ? 2e-6
                              : precision == Precision::kTf32 ? 1e-4
                              : precision == Precision::kFp16 ? 1e-3
                                                              : 8e-3;
  for (size_t i = 0; i < all.size(); ++i) {
    const auto program = DecodeKernel(*module, EntryOf(all[i]));
    ASSERT_TRUE(program.ok()) << all[i].name << ": " << program.status();
    for (const Trial& trial : TrialsOf(all[i])) {
      const auto outputs = Check(*program, all[i], trial);
      if (i >= emulation.value().size()) continue;
      const auto second = emulation.value().Run(i, all[i], trial.operands);
      ASSERT_TRUE(second.ok()) << all[i].name << ": " << second.error().message;
      EXPECT_LE(Distance(outputs, second.value()), distance_max) << all[i].name;
    }
  }
}

// Without programmatic launches a text is another.
class AmperePtxTest : public GeneratedPtxTest {};

TEST_P(AmperePtxTest, AgreesWithTheReference) {
  if (!HasNvrtc()) GTEST_SKIP() << "libnvrtc.so.13 is not here";
  const auto [family, precision] = GetParam();
  const std::vector<Work> all = WorkOf(*family, precision, cuda::GeneratedCases());
  const auto module = CompileWork(all, "compute_80");
  ASSERT_TRUE(module.ok()) << module.status();
  for (const Work& work : all) {
    const auto program = DecodeKernel(*module, EntryOf(work));
    ASSERT_TRUE(program.ok()) << work.name << ": " << program.status();
    Check(*program, work, {OperandsOf(work)});
  }
}

INSTANTIATE_TEST_SUITE_P(Families, AmperePtxTest,
                         testing::Combine(testing::ValuesIn(cuda::GeneratedFamilies()),
                                          testing::Values(Precision::kStrict)),
                         NameOfParameters);
INSTANTIATE_TEST_SUITE_P(Long, AmperePtxTest, testing::ValuesIn(FormsButStrict()),
                         NameOfParameters);

// Operands are promised to be aligned to 16 bytes. Where they are not, a kernel that is also listed
// for such operands is right all the same, and every other is refused: nothing in between.
TEST_P(GeneratedPtxTest, RefusesOrComputesWhatIsAlignedToFourBytes) {
  if (!HasNvrtc()) GTEST_SKIP() << "libnvrtc.so.13 is not here";
  const auto [family, precision] = GetParam();
  const std::vector<Work> all = WorkOf(*family, precision, AllCases());
  std::set<std::string> listed;
  for (const Work& work : WorkOf(*family, precision, AllCases(), 4)) listed.insert(EntryOf(work));
  const auto module = CompileWork(all, "compute_90");
  ASSERT_TRUE(module.ok()) << module.status();
  for (const Work& work : all) {
    const auto program = DecodeKernel(*module, EntryOf(work));
    ASSERT_TRUE(program.ok()) << work.name << ": " << program.status();
    const Trial trial{OperandsOf(work)};
    const auto run = RunWork(*program, work, trial, {.address_offset = 4});
    ++totals->runs;
    if (!run.ok()) {
      EXPECT_FALSE(listed.contains(EntryOf(work))) << work.name << ": " << run.status();
      EXPECT_NE(run.status().message().find("misaligned"), absl::string_view::npos)
          << work.name << ": " << run.status();
      continue;
    }
    const absl::Status right = CheckRun(work, trial, ReferenceOf(work, trial.operands), *run);
    EXPECT_TRUE(right.ok()) << right;
  }
}

INSTANTIATE_TEST_SUITE_P(Families, GeneratedPtxTest, testing::ValuesIn(cuda::FamilyForms()),
                         NameOfParameters);

}  // namespace
}  // namespace plait::simulated_gpu
