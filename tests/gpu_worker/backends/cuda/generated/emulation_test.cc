#include <map>

#include "gpu_worker/backends/cuda/problem/reference_problem.h"
#include "gtest/gtest.h"
#include "tests/gpu_worker/backends/cuda/generated/emulation/emulate.h"
#include "tests/gpu_worker/backends/cuda/generated/emulation/generated_cases.h"

namespace plait::cuda {
namespace {

struct Work {
  std::string name;
  Problem problem;
  MemoryLayout layout;
  EmulatedKernel kernel;
};

// Every kernel that a family generates for the cases.
std::vector<Work> WorkOf(const GeneratedFamily& family, Precision precision) {
  std::vector<Work> all;
  for (const GeneratedCase& c : GeneratedCases()) {
    for (MemoryLayout layout : {MemoryLayout::kNchw, MemoryLayout::kNhwc}) {
      if (layout == MemoryLayout::kNhwc && !LayoutMatters(c.problem)) continue;
      for (const GeneratedKernel& kernel : family.generate(c.problem, precision, layout)) {
        all.push_back({c.name + "/" + kernel.variant + "/" + LayoutName(layout),
                       c.problem,
                       layout,
                       {kernel, precision}});
      }
    }
  }
  return all;
}

Result<Emulation> CompileAll(const std::vector<Work>& all) {
  std::vector<EmulatedKernel> kernels;
  for (const Work& work : all) kernels.push_back(work.kernel);
  return Emulation::Compile(kernels);
}

// The difference from the reference, or the emulation's complaint.
Result<Difference> Check(const Emulation& emulation, size_t kernel, const Work& work) {
  const Result<ProblemShape> shape = ShapeOf(work.problem);
  if (!shape.ok()) return shape.error();
  const HostOperands operands =
      MakeHostOperands(work.problem, shape.value(), work.kernel.precision, 7);
  const auto outputs = emulation.Run(kernel, shape.value(), operands);
  if (!outputs.ok()) return outputs.error();
  constexpr int64_t kEveryElement = int64_t{1} << 40;
  return Compare(
      ComputeReference(work.problem, shape.value(), work.layout, operands, kEveryElement, 1),
      outputs.value(), work.kernel.precision);
}

class GeneratedEmulationTest
    : public testing::TestWithParam<std::tuple<const GeneratedFamily*, Precision>> {};

TEST_P(GeneratedEmulationTest, AgreesWithTheReference) {
  const auto [family, precision] = GetParam();
  const std::vector<Work> all = WorkOf(*family, precision);
  ASSERT_GE(all.size(), 2u) << family->name;
  const Result<Emulation> emulation = CompileAll(all);
  ASSERT_TRUE(emulation.ok()) << emulation.error().message;
  for (size_t i = 0; i < all.size(); ++i) {
    const Result<Difference> difference = Check(emulation.value(), i, all[i]);
    ASSERT_TRUE(difference.ok()) << all[i].name << ": " << difference.error().message;
    EXPECT_EQ(difference.value().not_numbers, 0) << all[i].name;
    EXPECT_LE(difference.value().relative_l2, RelativeL2Max(precision)) << all[i].name;
  }
}

INSTANTIATE_TEST_SUITE_P(Families, GeneratedEmulationTest,
                         testing::Combine(testing::ValuesIn(GeneratedFamilies()),
                                          testing::Values(Precision::kStrict, Precision::kFp16,
                                                          Precision::kBf16)),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param)->name) + "_" +
                                  PrecisionName(std::get<1>(info.param));
                         });

// Indices come from users: whatever they are, nothing outside of the operands is touched, and the
// word says which one is wrong.
TEST(GatherTest, WrongIndicesAreClampedAndNamed) {
  const MovementProblem p{
      .kind = MovementProblem::Kind::kGather, .inputs = {{3, 5, 4}, {2, 3}}, .axis = 1};
  std::vector<EmulatedKernel> kernels;
  for (const GeneratedFamily* family : GeneratedFamilies()) {
    for (GeneratedKernel& kernel : family->generate(p, Precision::kStrict, MemoryLayout::kNchw)) {
      kernels.push_back({std::move(kernel), Precision::kStrict});
    }
  }
  ASSERT_EQ(kernels.size(), 1u);
  const Result<Emulation> emulation = Emulation::Compile(kernels);
  ASSERT_TRUE(emulation.ok()) << emulation.error().message;
  const ProblemShape shape = ShapeOf(p).value();
  HostOperands operands = MakeHostOperands(p, shape, Precision::kStrict, 7);
  const struct {
    int64_t index;
    int64_t row;  // that is read
    int64_t word;
  } cases[] = {{4, 4, 0},  {-5, 0, 0},        {-1, 4, 0},       {5, 4, 5},
               {-6, 0, 5}, {INT64_MAX, 4, 5}, {INT64_MIN, 0, 5}};
  for (const auto& c : cases) {
    operands.indices[4] = c.index;
    int64_t word = -1;
    const auto outputs = emulation.value().Run(0, shape, operands, &word);
    ASSERT_TRUE(outputs.ok()) << c.index << ": " << outputs.error().message;
    EXPECT_EQ(word, c.word) << c.index;
    HostOperands clamped = operands;
    clamped.indices[4] = c.row;
    const Difference difference =
        Compare(ComputeReference(p, shape, MemoryLayout::kNchw, clamped, int64_t{1} << 40, 1),
                outputs.value(), Precision::kStrict);
    EXPECT_EQ(difference.relative_l2, 0) << c.index;
  }
}

// Kernels of the families with one fault put into each.
class PlantedFaultTest
    : public testing::TestWithParam<std::tuple<const char*, const char*, const char*>> {};

TEST_P(PlantedFaultTest, IsFound) {
  const auto [family_name, right, wrong] = GetParam();
  std::vector<Work> planted;
  for (const GeneratedFamily* family : GeneratedFamilies()) {
    if (std::string(family->name) != family_name) continue;
    for (Work& work : WorkOf(*family, Precision::kStrict)) {
      const size_t at = work.kernel.kernel.source.find(right);
      if (at == std::string::npos) continue;
      work.kernel.kernel.source.replace(at, std::string(right).size(), wrong);
      planted.push_back(work);
      break;
    }
  }
  ASSERT_EQ(planted.size(), 1u) << "no kernel of " << family_name << " holds " << right;
  const Result<Emulation> emulation = CompileAll(planted);
  ASSERT_TRUE(emulation.ok()) << emulation.error().message;
  const Result<Difference> difference = Check(emulation.value(), 0, planted[0]);
  const bool passes = difference.ok() && difference.value().not_numbers == 0 &&
                      difference.value().relative_l2 <= RelativeL2Max(Precision::kStrict);
  EXPECT_FALSE(passes) << planted[0].name;
}

INSTANTIATE_TEST_SUITE_P(
    Faults, PlantedFaultTest,
    testing::Values(std::tuple("rows", "sum += a[v][j]", "sum += 1.001f * a[v][j]"),
                    std::tuple("transpose", "__syncthreads();",
                               "if (threadIdx.y == 0) __syncthreads();"),
                    std::tuple("transpose", "tile[threadIdx.x][i]", "tile[i][threadIdx.x]"),
                    std::tuple("pool", "w >= kW", "w > kW"),
                    std::tuple("depthwise", "w >= kW", "w > kW"),
                    std::tuple("separable", "first < kChannels", "first + kChunk <= kChannels"),
                    std::tuple("elementwise", "i >= kVectors", "i > kVectors"),
                    std::tuple("movement", "row < kRows", "row <= kRows"),
                    std::tuple("gather", "e % kInner", "0"),
                    std::tuple("scale_shift", "e / kSpatial", "e / (kSpatial + 1)")));

}  // namespace
}  // namespace plait::cuda
