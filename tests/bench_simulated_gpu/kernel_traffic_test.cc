#include "bench/simulated_gpu/kernel_traffic.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "bench/simulated_gpu/traffic_limits.h"
#include "gpu_worker/backends/cuda/driver/nvrtc.h"
#include "gpu_worker/backends/cuda/problem/problem_shape.h"
#include "gtest/gtest.h"

namespace plait {
namespace {

constexpr unsigned kAllBlocks = 1 << 20;

cuda::ConvProblem Depthwise(int64_t channels, int64_t window) {
  cuda::ConvProblem conv{.n = 1, .c = channels, .h = 4, .w = 16, .k = channels};
  conv.r = conv.s = window;
  conv.pad = {window / 2, window / 2, window / 2, window / 2};
  conv.groups = channels;
  return conv;
}

cuda::SeparableConvProblem Separable(int64_t channels, int64_t outputs) {
  cuda::SeparableConvProblem pair{.depthwise = Depthwise(channels, 3), .pointwise = {}};
  pair.pointwise = {.n = 1, .c = channels, .h = 4, .w = 16, .k = outputs};
  return pair;
}

cuda::PoolProblem Pool(int64_t channels) {
  cuda::PoolProblem pool{.n = 1, .c = channels, .h = 4, .w = 16, .r = 3, .s = 3};
  pool.pad = {1, 1, 1, 1};
  pool.output_h = 4;
  pool.output_w = 16;
  return pool;
}

cuda::ElementwiseProblem Relu(int64_t channels) {
  return {"relu(x0)", {1, channels, 4, 16}, {{1, channels, 4, 16}}};
}

// A kernel of every family, of sizes that are whole sectors: what is beyond the bytes asked is the
// kernel's doing.
std::vector<cuda::Problem> WholeSectors() {
  using Movement = cuda::MovementProblem;
  using Rows = cuda::RowsProblem;
  cuda::ConvProblem convolution{.n = 1, .c = 32, .h = 4, .w = 16, .k = 64, .r = 3, .s = 3};
  convolution.pad = {1, 1, 1, 1};
  convolution.activation = cuda::Activation::kSilu;
  return {
      Depthwise(96, 5),
      convolution,
      Separable(96, 128),
      Pool(64),
      Rows{.rows = 16, .columns = 768},
      Rows{.kind = Rows::Kind::kLayerNorm, .rows = 16, .columns = 768},
      Rows{.rows = 1024, .columns = 16, .inner = 256},
      cuda::ScaleShiftProblem{.n = 2, .c = 64, .spatial = 256},
      cuda::ElementwiseProblem{"add(x0,x1)", {2, 64, 256}, {{2, 64, 256}, {2, 64, 256}}},
      Movement{.kind = Movement::Kind::kTranspose,
               .inputs = {{1, 64, 16, 16}},
               .permutation = {0, 2, 3, 1}},
      Movement{.kind = Movement::Kind::kConcat, .inputs = {{4, 64, 64}, {4, 32, 64}}, .axis = 1},
      Movement{.kind = Movement::Kind::kGather, .inputs = {{100, 256}, {16}}, .axis = 0},
      cuda::RecurrenceProblem{.columns = 512,
                              .inputs = {2, 1},
                              .steps = {"mul(x0,x2)", "add(x3,x1)"},
                              .outputs = {{3, 4}}},
      cuda::AttentionProblem{.heads = 2, .query = 32, .keys = 64, .dim = 64},
      cuda::ResizeProblem{.c = 64,
                          .rows = {2, 1, {0, 0, 1, 1}, {1, 1, 1, 1}},
                          .columns = {32, 2, {0, 1, 30, 31}, {0.5, 0.5, 0.5, 0.5}}},
      cuda::RecurrentLayerProblem{
          .steps = 2, .batch = 4, .input = 64, .hidden = 64, .bias = true, .y_h = true},
  };
}

// What families have for it: all of it, or what is worth timing.
void AppendKernels(const cuda::Problem& problem, const cuda::KernelForm& form, bool all,
                   std::vector<ModelKernel>* kernels) {
  cuda::OperandAlignment alignment;
  if (form.alignment_bytes < 16) alignment.outputs = form.alignment_bytes;
  for (const cuda::GeneratedFamily* family : cuda::GeneratedFamilies()) {
    if (!form.pitches.are_dense() && !family->takes_pitches) continue;
    for (cuda::GeneratedKernel& kernel : family->list(problem, form)) {
      if (!all && !kernel.is_listed) continue;
      kernels->push_back({family, problem, form, alignment, std::move(kernel)});
    }
  }
}

// NasNet's channels and their like, dense and as the second of four parts of a concatenation.
std::vector<ModelKernel> OddKernels(cuda::Precision precision,
                                    const std::vector<int64_t>& all_channels) {
  std::vector<ModelKernel> kernels;
  for (const int64_t channels : all_channels) {
    const int64_t element = cuda::ElementBytes(precision), offset = channels * element;
    cuda::KernelForm dense{precision, cuda::MemoryLayout::kNhwc};
    cuda::KernelForm part = dense;
    part.alignment_bytes = std::min<int64_t>(offset & -offset, 16);
    part.pitches.outputs = {{.channels = channels, .pitch = 4 * channels}};
    for (const cuda::KernelForm& form : {dense, part}) {
      for (const cuda::Problem& problem :
           std::vector<cuda::Problem>{Depthwise(channels, 3), Separable(channels, channels),
                                      Pool(channels), Relu(channels)}) {
        AppendKernels(problem, form, false, &kernels);
      }
    }
    AppendKernels(cuda::MovementProblem{.kind = cuda::MovementProblem::Kind::kConcat,
                                        .inputs = {{1, channels, 4, 16}, {1, channels, 4, 16}},
                                        .axis = 1},
                  dense, false, &kernels);
  }
  return kernels;
}

// What passes its limit.
void ExpectLimits(const std::vector<ModelKernel>& kernels, TrafficCheck* check) {
  std::vector<const ModelKernel*> pointers;
  for (const ModelKernel& kernel : kernels) pointers.push_back(&kernel);
  const auto programs = ProgramsOf(pointers);
  ASSERT_TRUE(programs.ok()) << programs.status();
  for (size_t i = 0; i < kernels.size(); ++i) {
    const auto traffic = MeasureTraffic((*programs)[i], kernels[i], kAllBlocks);
    ASSERT_TRUE(traffic.ok()) << kernels[i].kernel.variant << ": " << traffic.status();
    for (const OperandTraffic& operand : *traffic) {
      EXPECT_EQ(check->Check(kernels[i], operand), "")
          << cuda::ProblemName(kernels[i].problem) << " " << PlacesName(kernels[i].form);
    }
  }
}

class KernelTrafficTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!cuda::NvrtcVersion().ok()) GTEST_SKIP() << "libnvrtc.so.13 is not here";
  }
};

TEST_F(KernelTrafficTest, EveryFamilyFillsItsSectors) {
  std::vector<ModelKernel> kernels;
  for (const cuda::Problem& problem : WholeSectors()) {
    AppendKernels(problem, {cuda::Precision::kStrict, cuda::MemoryLayout::kNchw}, true, &kernels);
    if (!cuda::LayoutMatters(problem)) continue;
    AppendKernels(problem, {cuda::Precision::kStrict, cuda::MemoryLayout::kNhwc}, true, &kernels);
  }
  TrafficCheck check;
  ExpectLimits(kernels, &check);
}

TEST_F(KernelTrafficTest, OddChannelsKeepToArithmetic) {
  TrafficCheck check;
  ExpectLimits(OddKernels(cuda::Precision::kStrict, {11, 22, 44, 54, 88}), &check);
  ExpectLimits(OddKernels(cuda::Precision::kFp16, {11, 44}), &check);
}

// The compiler made single stores of them where it did not see that they are aligned.
TEST_F(KernelTrafficTest, PartsOfWholeSectorsAreStoredInVectors) {
  cuda::KernelForm form{cuda::Precision::kStrict, cuda::MemoryLayout::kNhwc};
  form.pitches.inputs = form.pitches.outputs = {{.channels = 192, .pitch = 384}};
  std::vector<ModelKernel> kernels;
  AppendKernels(cuda::ElementwiseProblem{"relu(x0)", {1, 192, 13, 13}, {{1, 192, 13, 13}}}, form,
                true, &kernels);
  ASSERT_EQ(kernels.size(), 3u);
  for (const ModelKernel& kernel : kernels) {
    const auto programs = ProgramsOf({&kernel});
    ASSERT_TRUE(programs.ok()) << programs.status();
    const auto traffic = MeasureTraffic((*programs)[0], kernel, 2);
    ASSERT_TRUE(traffic.ok()) << traffic.status();
    ASSERT_EQ(traffic->size(), 2u);
    for (const OperandTraffic& operand : *traffic) {
      EXPECT_EQ(operand.ratio(), 1) << kernel.kernel.variant << " " << operand.operand;
    }
  }
}

TEST(TrafficLimitsTest, WorstSectorsAreThoseOfTheWorstPlace) {
  for (int64_t alignment = 1; alignment <= 64; alignment *= 2) {
    for (int64_t bytes = 1; bytes <= 200; ++bytes) {
      int64_t worst = 0;
      for (int64_t place = 0; place < 64; place += alignment) {
        worst = std::max(worst, (place + bytes - 1) / 32 - place / 32 + 1);
      }
      EXPECT_EQ(WorstSectors(bytes, alignment), worst) << bytes << " at " << alignment;
    }
  }
}

TEST(TrafficLimitsTest, TellsAPatternThatIsWorseThanItsShape) {
  std::vector<ModelKernel> kernels;
  AppendKernels(Depthwise(11, 3), {cuda::Precision::kStrict, cuda::MemoryLayout::kNhwc}, true,
                &kernels);
  ASSERT_FALSE(kernels.empty());
  OperandTraffic traffic{.operand = "y0", .is_store = true, .element_bytes = 4};
  // 44 bytes touch three sectors at worst, and each warp of 128 bytes one again.
  EXPECT_DOUBLE_EQ(TrafficBoundOf(kernels[0], traffic).ratio, 96 / 44.0 + 32 / 128.0);
  TrafficCheck check;
  traffic.bytes_asked = 44000;
  traffic.sectors = 1700;  // 1.24
  EXPECT_EQ(check.Check(kernels[0], traffic), "");
  const size_t unneeded = check.Unneeded().size();
  traffic.sectors = 2700;  // 1.96
  EXPECT_EQ(check.Check(kernels[0], traffic), "");
  EXPECT_LT(check.Unneeded().size(), unneeded);
  traffic.sectors = 3500;  // 2.55
  EXPECT_NE(check.Check(kernels[0], traffic), "");
  // Loads of the bias have no limit.
  traffic.operand = "bias";
  traffic.is_store = false;
  EXPECT_EQ(check.Check(kernels[0], traffic), "");
}

}  // namespace
}  // namespace plait
