#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "bench/simulated_gpu/ptxas_log.h"
#include "gpu_worker/backends/cuda/driver/nvrtc.h"
#include "gpu_worker/backends/cuda/generated/kernel.h"
#include "optimizer/cost/occupancy.h"

namespace plait {
namespace {

using cuda::ConvProblem;
using cuda::MovementProblem;
using cuda::RowsProblem;

// By which optimizer/cost/generated_kernels.def was made; others may give other registers.
constexpr const char* kNvrtcVersion = "13.0";

ConvProblem Depthwise(int64_t channels, int64_t pixels, int64_t window) {
  ConvProblem conv{.n = 1, .c = channels, .h = pixels, .w = pixels, .k = channels};
  conv.r = conv.s = window;
  conv.pad = {window / 2, window / 2, window / 2, window / 2};
  conv.groups = channels;
  return conv;
}

cuda::Problem Separable() {
  cuda::SeparableConvProblem problem{.depthwise = Depthwise(88, 28, 5), .pointwise = {}};
  problem.depthwise.prologue_relu = true;
  problem.pointwise = {.n = 1, .c = 88, .h = 28, .w = 28, .k = 88, .bias = true};
  return problem;
}

// Ten steps of two rows each, as those of a simple recurrent unit.
cuda::Problem Recurrence() {
  cuda::RecurrenceProblem problem{.columns = 512, .inputs = {11, 10}, .outputs = {{}}};
  int64_t state = 0;
  for (int64_t step = 0; step < 10; ++step) {
    problem.steps.push_back(
        absl::StrCat("add(mul(sigmoid(x", 11 + step, "),x", state, "),x", 1 + step, ")"));
    state = 21 + step;
    problem.outputs[0].push_back(state);
  }
  return problem;
}

cuda::Problem Resize() {
  cuda::ResizeProblem problem{.n = 1, .c = 64, .rows = {28, 2, {}, {}}, .columns = {}};
  for (int64_t row = 0; row < 56; ++row) {
    const int64_t first = std::max<int64_t>(0, (row - 1) / 2);
    problem.rows.elements.insert(problem.rows.elements.end(),
                                 {first, std::min<int64_t>(27, first + 1)});
    problem.rows.weights.insert(problem.rows.weights.end(), {0.75F, 0.25F});
  }
  problem.columns = problem.rows;
  return problem;
}

// Of each line of the table a problem of the usual models.
cuda::Problem ProblemOf(const std::string& family) {
  if (family == "elementwise") {
    return cuda::ElementwiseProblem{
        "relu(add(x0,x1))", {1, 256, 56, 56}, {{1, 256, 56, 56}, {1, 256, 56, 56}}};
  }
  if (family == "rows") {
    return RowsProblem{.kind = RowsProblem::Kind::kLayerNorm, .rows = 128, .columns = 768};
  }
  if (family == "movement") {
    return MovementProblem{.kind = MovementProblem::Kind::kConcat,
                           .inputs = {{1, 256, 28, 28}, {1, 256, 28, 28}},
                           .axis = 1};
  }
  if (family == "pool") {
    return cuda::PoolProblem{.n = 1,
                             .c = 64,
                             .h = 112,
                             .w = 112,
                             .r = 3,
                             .s = 3,
                             .stride = {2, 2},
                             .pad = {1, 1, 1, 1},
                             .output_h = 56,
                             .output_w = 56};
  }
  if (family == "depthwise") return Depthwise(144, 56, 3);
  if (family == "separable") return Separable();
  if (family == "scale_shift") {
    return cuda::ScaleShiftProblem{
        .n = 1, .c = 256, .spatial = 784, .activation = cuda::Activation::kRelu};
  }
  if (family == "recurrence") return Recurrence();
  if (family == "resize") return Resize();
  if (family == "recurrent_layer") {
    return cuda::RecurrentLayerProblem{
        .steps = 64, .batch = 1, .input = 256, .hidden = 256, .bias = true};
  }
  return cuda::AttentionProblem{
      .batch = 1, .heads = 12, .query = 128, .keys = 128, .dim = 64, .mask = true};
}

// The first kernel that the family lists for the problem.
BlockResources Compile(const std::string& family) {
  for (const cuda::GeneratedFamily* generated : cuda::GeneratedFamilies()) {
    if (generated->name != family) continue;
    for (const cuda::GeneratedKernel& kernel : generated->generate(
             ProblemOf(family), cuda::Precision::kStrict, cuda::MemoryLayout::kNchw)) {
      if (!kernel.is_listed) continue;
      const auto compiled = cuda::CompileToCubinWithLog(
          cuda::DeviceSource({&kernel}, cuda::Precision::kStrict), "sm_90a");
      EXPECT_TRUE(compiled.ok()) << compiled.error().message;
      if (!compiled.ok()) return {};
      const KernelResources told = ReadPtxasLog(compiled.value().log).begin()->second;
      const int threads = static_cast<int>(kernel.block[0] * kernel.block[1] * kernel.block[2]);
      return {threads, told.registers, told.shared_bytes};
    }
  }
  ADD_FAILURE() << "no kernel of " << family;
  return {};
}

std::string LineOf(const std::string& family, const BlockResources& block) {
  return absl::StrCat("PLAIT_GENERATED_KERNEL(", family, ", ", block.threads, ", ", block.registers,
                      ", ", block.shared_bytes, ")");
}

TEST(GeneratedKernelsTest, TheTableIsWhatPtxasSays) {
  const auto version = cuda::NvrtcVersion();
  if (!version.ok() || version.value() != kNvrtcVersion) {
    GTEST_SKIP() << "NVRTC " << kNvrtcVersion << " is not here";
  }
#define PLAIT_GENERATED_KERNEL(family, threads, registers, shared_bytes) \
  EXPECT_EQ(LineOf(#family, {threads, registers, shared_bytes}), LineOf(#family, Compile(#family)));
#include "optimizer/cost/generated_kernels.def"
#undef PLAIT_GENERATED_KERNEL
}

}  // namespace
}  // namespace plait
