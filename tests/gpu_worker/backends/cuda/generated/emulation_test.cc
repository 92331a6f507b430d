#include <cmath>

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
    EXPECT_TRUE(Passes(difference.value(), all[i].problem, precision))
        << all[i].name << ": relative L2 " << difference.value().relative_l2 << ", largest "
        << difference.value().largest << ", NaN " << difference.value().not_numbers;
  }
}

INSTANTIATE_TEST_SUITE_P(Families, GeneratedEmulationTest, testing::ValuesIn(FamilyForms()),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param)->name) + "_" +
                                  PrecisionName(std::get<1>(info.param));
                         });

// The kernels of all families for a problem, in strict.
std::vector<Work> StrictKernelsOf(const Problem& problem, MemoryLayout layout) {
  std::vector<Work> all;
  for (const GeneratedFamily* family : GeneratedFamilies()) {
    for (GeneratedKernel& kernel : family->generate(problem, Precision::kStrict, layout)) {
      all.push_back({std::string(family->name) + "/" + kernel.variant,
                     problem,
                     layout,
                     {std::move(kernel), Precision::kStrict}});
    }
  }
  return all;
}

// A model that has gone astray must not look like one that has not: NaN passes a ReLU and a
// maximum.
TEST(NaNTest, IsWhatTheReferenceHas) {
  const PoolProblem pool{.c = 4, .h = 6, .w = 6, .r = 3, .s = 3, .output_h = 4, .output_w = 4};
  const PoolProblem global{.c = 4, .h = 6, .w = 6, .r = 6, .s = 6};
  std::vector<Work> all;
  for (const Problem& problem :
       {Problem(ElementwiseProblem{"relu(x0)", {4, 36}, {{4, 36}}}),
        Problem(ElementwiseProblem{"max(min(x0,2),clip(x0,-1,1))", {4, 36}, {{4, 36}}}),
        Problem(pool), Problem(global),
        Problem(RowsProblem{.kind = RowsProblem::Kind::kReduceMax, .rows = 4, .columns = 36}),
        Problem(RowsProblem{.kind = RowsProblem::Kind::kSoftmax, .rows = 4, .columns = 36}),
        Problem(ScaleShiftProblem{.c = 4, .spatial = 36, .activation = Activation::kRelu6})}) {
    for (const MemoryLayout layout : {MemoryLayout::kNchw, MemoryLayout::kNhwc}) {
      for (Work& work : StrictKernelsOf(problem, layout)) all.push_back(std::move(work));
    }
  }
  const Result<Emulation> emulation = CompileAll(all);
  ASSERT_TRUE(emulation.ok()) << emulation.error().message;
  for (size_t i = 0; i < all.size(); ++i) {
    const Work& work = all[i];
    const ProblemShape shape = ShapeOf(work.problem).value();
    HostOperands operands = MakeHostOperands(work.problem, shape, Precision::kStrict, 7);
    operands.inputs[0][15] = NAN;
    const auto outputs = emulation.value().Run(i, shape, operands);
    ASSERT_TRUE(outputs.ok()) << work.name << ": " << outputs.error().message;
    int wrong = 0, expected = 0;
    for (const ReferenceElement& element :
         ComputeReference(work.problem, shape, work.layout, operands, int64_t{1} << 40, 1)) {
      expected += std::isnan(element.value);
      wrong += std::isnan(outputs.value()[0][element.offset]) != std::isnan(element.value);
    }
    EXPECT_GT(expected, 0) << work.name;
    EXPECT_EQ(wrong, 0) << work.name;
  }
}

// Indices come from users: whatever they are, nothing outside of the operands is touched, and the
// word says which one is wrong.
TEST(GatherTest, WrongIndicesAreClampedAndNamed) {
  const MovementProblem p{
      .kind = MovementProblem::Kind::kGather, .inputs = {{3, 5, 4}, {2, 3}}, .axis = 1};
  const std::vector<Work> kernels = StrictKernelsOf(p, MemoryLayout::kNchw);
  ASSERT_EQ(kernels.size(), 1u);
  const Result<Emulation> emulation = CompileAll(kernels);
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
  const bool passes =
      difference.ok() && Passes(difference.value(), planted[0].problem, Precision::kStrict);
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
                    std::tuple("convolution", "w >= kW", "w > kW"),
                    std::tuple("convolution", "first < kTaps", "first + kDepth <= kTaps"),
                    std::tuple("separable", "first < kChannels", "first + kChunk <= kChannels"),
                    std::tuple("elementwise", "i >= kVectors", "i > kVectors"),
                    std::tuple("movement", "row < kRows", "row <= kRows"),
                    std::tuple("gather", "e % kInner", "0"),
                    std::tuple("recurrent_layer", "(turn + 1) % 2", "turn % 2"),
                    std::tuple("recurrent_layer", "i < kSize", "i + kWidth < kSize"),
                    std::tuple("scale_shift", "e / kSpatial", "e / (kSpatial + 1)")));

}  // namespace
}  // namespace plait::cuda
