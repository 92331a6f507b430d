#include <cstdio>
#include <map>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "tests/gpu_worker/simulated_gpu/generated_work.h"

namespace plait::simulated_gpu {
namespace {

// Problems of the sizes that models have, in whole sectors, so that what is beyond the bytes asked
// is the kernel's doing.
std::vector<cuda::GeneratedCase> ModelCases() {
  cuda::ConvProblem depthwise{.n = 1, .c = 96, .h = 14, .w = 16, .k = 96, .r = 5, .s = 5};
  depthwise.pad = {2, 2, 2, 2};
  depthwise.groups = 96;
  cuda::SeparableConvProblem separable{.depthwise = depthwise, .pointwise = {}};
  separable.pointwise = {.n = 1, .c = 96, .h = 14, .w = 16, .k = 128};
  cuda::ConvProblem convolution{.n = 1, .c = 32, .h = 14, .w = 16, .k = 64, .r = 3, .s = 3};
  convolution.pad = {1, 1, 1, 1};
  convolution.activation = cuda::Activation::kSilu;
  return {
      {"depthwise", depthwise},
      {"convolution", convolution},
      {"separable", separable},
      {"pool", cuda::PoolProblem{.n = 1,
                                 .c = 64,
                                 .h = 16,
                                 .w = 16,
                                 .r = 3,
                                 .s = 3,
                                 .pad = {1, 1, 1, 1},
                                 .output_h = 16,
                                 .output_w = 16}},
      {"softmax", cuda::RowsProblem{.rows = 16, .columns = 768}},
      {"layer_norm",
       cuda::RowsProblem{.kind = cuda::RowsProblem::Kind::kLayerNorm, .rows = 16, .columns = 768}},
      {"scale_shift", cuda::ScaleShiftProblem{.n = 2, .c = 64, .spatial = 256}},
      {"add", cuda::ElementwiseProblem{"add(x0,x1)", {2, 64, 256}, {{2, 64, 256}, {2, 64, 256}}}},
      {"transpose", cuda::MovementProblem{.kind = cuda::MovementProblem::Kind::kTranspose,
                                          .inputs = {{1, 64, 16, 16}},
                                          .permutation = {0, 2, 3, 1}}},
      {"concat", cuda::MovementProblem{.kind = cuda::MovementProblem::Kind::kConcat,
                                       .inputs = {{4, 64, 64}, {4, 32, 64}},
                                       .axis = 1}},
      {"gather",
       cuda::MovementProblem{
           .kind = cuda::MovementProblem::Kind::kGather, .inputs = {{100, 256}, {16}}, .axis = 0}},
      {"recurrence", cuda::RecurrenceProblem{.columns = 512,
                                             .inputs = {2, 1},
                                             .steps = {"mul(x0,x2)", "add(x3,x1)"},
                                             .outputs = {{3, 4}}}},
      {"attention", cuda::AttentionProblem{.heads = 2, .query = 32, .keys = 64, .dim = 64}},
      {"softmax_of_channels", cuda::RowsProblem{.rows = 1024, .columns = 16, .inner = 256}},
      {"resize", cuda::ResizeProblem{.c = 64,
                                     .rows = {2, 1, {0, 0, 1, 1}, {1, 1, 1, 1}},
                                     .columns = {32, 2, {0, 1, 30, 31}, {0.5, 0.5, 0.5, 0.5}}}},
      {"lstm",
       cuda::RecurrentLayerProblem{
           .steps = 2, .batch = 4, .input = 64, .hidden = 64, .bias = true, .y_h = true}},
  };
}

// Sectors moved for each sector that the bytes asked would fill, of a kernel's loads or stores of
// one operand.
std::map<std::string, double> RatiosOf(const LaunchReport& report) {
  std::map<std::string, std::pair<int64_t, int64_t>> sums;  // sectors, bytes
  for (const AccessReport& access : report.accesses) {
    if (access.sectors == 0) continue;
    const bool load = absl::StartsWith(access.opcode, "ld.");
    auto& [sectors, bytes] = sums[std::string(load ? "loads of " : "stores of ") + access.range];
    sectors += access.sectors;
    bytes += access.bytes_asked;
  }
  std::map<std::string, double> ratios;
  for (const auto& [name, sum] : sums) {
    ratios[name] = static_cast<double>(sum.first) * 32 / static_cast<double>(sum.second);
  }
  return ratios;
}

constexpr double kRatioMax = 1.25;

// What stores may reach. Above kRatioMax: kernels of which neighbouring lanes write strips of a row
// in NCHW.
double StoreRatioMax(const Work& work) {
  const bool depthwise = absl::StartsWith(work.name, "depthwise/");
  if (depthwise && work.layout == cuda::MemoryLayout::kNchw) return 4.0;
  // A number for each row of the batch: states are few, beside the weights of a step.
  if (absl::StartsWith(work.name, "recurrent_layer/")) return 8.0;
  return kRatioMax;
}

// What loads in channels-last of an operand may reach: pixels and depthwise weights lie beside each
// other.
double LoadRatioMax(const Work& work, const std::string& operand) {
  const bool is_depthwise =
      absl::StartsWith(work.name, "depthwise/") || absl::StartsWith(work.name, "separable/");
  const bool is_beside = operand == "loads of x" || operand == "loads of packed_weights";
  if (is_depthwise && is_beside && work.layout == cuda::MemoryLayout::kNhwc) return kRatioMax;
  return 32.0;
}

class TrafficTest : public testing::TestWithParam<const cuda::GeneratedFamily*> {};

// Stores fill the sectors that they touch, with exceptions that get no worse. What loads move is
// printed beside it.
TEST_P(TrafficTest, StoresFillTheirSectors) {
  if (!HasNvrtc()) GTEST_SKIP() << "libnvrtc.so.13 is not here";
  const std::vector<Work> all = WorkOf(*GetParam(), cuda::Precision::kStrict, ModelCases());
  ASSERT_FALSE(all.empty());
  const auto module = CompileWork(all, "compute_90");
  ASSERT_TRUE(module.ok()) << module.status();
  for (size_t i = 0; i < all.size(); ++i) {
    const auto program = DecodeKernel(*module, EntryOf(all[i]));
    ASSERT_TRUE(program.ok()) << program.status();
    const auto run = RunWork(*program, all[i], {OperandsOf(all[i])});
    ASSERT_TRUE(run.ok()) << all[i].name << ": " << run.status();
    int64_t wavefronts = 0, least = 0;
    for (const AccessReport& access : run->report.accesses) {
      wavefronts += access.wavefronts;
      least += access.wavefronts_least;
    }
    std::printf("%s:", all[i].name.c_str());
    for (const auto& [name, ratio] : RatiosOf(run->report)) {
      std::printf(" %s %.2f%s,", name.c_str(), ratio, ratio > kRatioMax ? " (!)" : "");
      if (absl::StartsWith(name, "loads")) {
        EXPECT_LE(ratio, LoadRatioMax(all[i], name)) << all[i].name << " " << name;
      }
      if (absl::StartsWith(name, "stores")) {
        EXPECT_LE(ratio, StoreRatioMax(all[i])) << all[i].name;
      }
    }
    std::printf(" wavefronts %ld of %ld\n", wavefronts, least);
  }
}

INSTANTIATE_TEST_SUITE_P(Families, TrafficTest, testing::ValuesIn(cuda::GeneratedFamilies()),
                         [](const auto& info) { return std::string(info.param->name); });

}  // namespace
}  // namespace plait::simulated_gpu
