#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gpu_worker/backends/cpu/offers/cpu_catalog.h"
#include "gpu_worker/executor/make_inputs.h"
#include "optimizer/ops/evaluation/evaluate.h"
#include "tests/fakes/planned_graph.h"
#include "tests/gpu_worker/executor/executor_fixture.h"

namespace plait {
namespace {

using testing::HasSubstr;

// The same kernels, which are given no parts.
class WithoutParts : public CpuCatalog {
 public:
  using CpuCatalog::CpuCatalog;
  bool WritesParts(const Kernel& /*kernel*/) const override { return false; }
};

// What a stranger may say of them.
class AllTakeParts : public CpuCatalog {
 public:
  using CpuCatalog::CpuCatalog;
  bool ReadsParts(const Kernel& /*kernel*/) const override { return true; }
  bool WritesParts(const Kernel& /*kernel*/) const override { return true; }
};

// Kernels of a family that write parts, mostly, and read them.
struct PartsCase {
  const char* family;
  int64_t channels;
  const char* nodes;  // make %a and %b of %x, an image of C channels and 50 x 60 pixels
  bool writes = true;
};

const PartsCase kCases[] = {
    {"conv_winograd", 24, R"(
  const %w: float32[40,C,3,3] = synthetic 1
  const %v: float32[C,C,3,3] = synthetic 2
  const %s: float32[C] = synthetic 3
  %a0 = Conv(%x, %w) {kernel_shape=[3,3], pads=[1,1,1,1]}
  %a = Relu(%a0)
  %b0 = Conv(%x, %v, %s) {kernel_shape=[3,3], pads=[1,1,1,1]}
  %b1 = Add(%b0, %x)
  %b = Tanh(%b1)
)"},
    {"depthwise", 24, R"(
  const %w: float32[C,1,5,5] = synthetic 1
  const %v: float32[C,1,3,3] = synthetic 2
  %a = Conv(%x, %w) {group=C, kernel_shape=[5,5], pads=[2,2,2,2]}
  %b0 = Conv(%x, %v) {group=C, kernel_shape=[3,3], pads=[1,1,1,1]}
  %b1 = Add(%b0, %x)
  %b = Sigmoid(%b1)
)"},
    {"separable", 24, R"(
  const %w: float32[C,1,3,3] = synthetic 1
  const %v: float32[C,C,1,1] = synthetic 2
  const %u: float32[40,C,1,1] = synthetic 3
  %a0 = Conv(%x, %w) {group=C, kernel_shape=[3,3], pads=[1,1,1,1]}
  %a = Conv(%a0, %u)
  %b0 = Conv(%x, %w) {group=C, kernel_shape=[3,3], pads=[1,1,1,1]}
  %b1 = Relu(%b0)
  %b2 = Conv(%b1, %v)
  %b = Add(%b2, %x)
)"},
    {"conv_fma", 24, R"(
  const %w: float32[40,C,1,1] = synthetic 1
  const %v: float32[C,C,1,3] = synthetic 2
  %a0 = Conv(%x, %w)
  %a = Relu(%a0)
  %b0 = Conv(%x, %v) {pads=[0,1,0,1]}
  %b1 = Add(%b0, %x)
  %b = Tanh(%b1)
)"},
    {"conv_strassen", 656, R"(
  const %w: float32[642,C,1,1] = synthetic 1
  const %v: float32[C,C,1,1] = synthetic 2
  %a0 = Conv(%x, %w)
  %a = Relu(%a0)
  %b0 = Conv(%x, %v)
  %b1 = Add(%b0, %x)
  %b = Tanh(%b1)
)"},
    {"pool_pixels", 24, R"(
  %a = MaxPool(%x) {kernel_shape=[3,3], pads=[1,1,1,1]}
  %b = AveragePool(%x) {kernel_shape=[3,3], pads=[1,1,1,1]}
)"},
    {"resize", 24, R"(
  const %half: float32[4] = [1,1,0.5,0.5]
  const %twice: float32[4] = [1,1,2,2]
  %small = Resize(%x, _, %half) {mode="linear"}
  %a = Resize(%small, _, %twice) {mode="linear"}
  %b = Resize(%small, _, %twice) {mode="cubic"}
)"},
    {"elementwise", 24, R"(
  const %s: float32[C,1,1] = synthetic 1
  %a = Relu(%x)
  %b0 = Mul(%a, %s)
  %b = Tanh(%b0)
)"},
    // Rows that are long enough to be computed where they lie.
    {"elementwise", 136, R"(
  const %s: float32[C,1,1] = synthetic 1
  const %t: float32[60] = synthetic 2
  %a = Mul(%x, %s)
  %b0 = Add(%x, %a)
  %b1 = Mul(%b0, %t)
  %b = Sigmoid(%b1)
)"},
    {"pad", 24, R"(
  const %around: int64[8] = [0,0,1,1,0,0,1,1]
  const %tall: int64[8] = [0,0,1,0,0,0,1,0]
  %a0 = Pad(%x, %around) {mode="reflect"}
  %a = MaxPool(%a0) {kernel_shape=[3,3]}
  %b0 = Pad(%x, %tall) {mode="edge"}
  %b = MaxPool(%b0) {kernel_shape=[3,1]}
)",
     false},
};

// %x, which the nodes read, is a part itself, and so is %y, which a Concat makes of parts only.
Graph GraphOfCase(const PartsCase& parts_case) {
  return ParseTyped(absl::StrReplaceAll(
      absl::StrCat("graph {\n  input %in: float32[2,20,50,60]\n",
                   "  const %first: float32[C,20,1,1] = synthetic 9\n",
                   "  %x0 = Conv(%in, %first)\n  %x = Relu(%x0)\n", parts_case.nodes,
                   "  %y = Concat(%x, %a) {axis=1}\n  %z = Abs(%y)\n"
                   "  %all = Concat(%x, %a, %b, %z) {axis=1}\n"
                   "  %out = Neg(%all)\n  output %out\n}\n"),
      {{"C,", absl::StrCat(parts_case.channels, ",")},
       {"[C]", absl::StrCat("[", parts_case.channels, "]")}}));
}

class PartsTest : public testing::TestWithParam<PartsCase>, protected WithExecutor {
 protected:
  void SetUp() override { Open("cpu", 2); }

  // The plan that runs all it can by the case's family, in channels-last.
  Plan PlanWith(const Graph& graph, const KernelCatalog& catalog) const {
    FakeProfiler profiler;
    profiler.channels_last_factor = 0.1;
    for (const char* const family :
         {"conv", "pool", "reorder", "matmul_bf16", "matmul_int8", "conv_bf16", "conv_int8"}) {
      profiler.family_factor[family] = 100;
    }
    for (const char* const family :
         {"conv_fma", "conv_strassen", "conv_winograd", "depthwise", "separable", "pool_pixels"}) {
      profiler.family_factor[family] = GetParam().family == absl::string_view(family) ? 0.1 : 10;
    }
    return PlansOf(graph, catalog, executor_->device(), profiler).front();
  }

  std::vector<Tensor> Run(const Graph& graph, const Plan& plan) const {
    const absl::StatusOr<std::unique_ptr<Executable>> executable =
        executor_->Load(graph, plan, NoWeights());
    EXPECT_TRUE(executable.ok()) << executable.status();
    const absl::StatusOr<std::vector<Tensor>> inputs = MakeInputs(graph, 1);
    if (!executable.ok() || !inputs.ok()) return {};
    const absl::StatusOr<std::vector<Tensor>> outputs = (*executable)->Run(*inputs);
    EXPECT_TRUE(outputs.ok()) << outputs.status();
    return outputs.ok() ? *outputs : std::vector<Tensor>();
  }
};

bool IsPart(const Plan& plan, int value) { return plan.values[value].first_channel >= 0; }

TEST_P(PartsTest, ChangeNoBit) {
  const Graph graph = GraphOfCase(GetParam());
  const Plan plan = PlanWith(graph, CpuCatalog(executor_->device()));
  const Plan without = PlanWith(graph, WithoutParts(executor_->device()));
  int reads = 0;
  int writes = 0;
  for (const Step& step : plan.steps) {
    if (step.kernel.family != GetParam().family) continue;
    const auto is_part = [&](int value) { return IsPart(plan, value); };
    reads += std::any_of(step.inputs.begin(), step.inputs.end(), is_part) ? 1 : 0;
    writes += std::any_of(step.outputs.begin(), step.outputs.end(), is_part) ? 1 : 0;
  }
  EXPECT_GE(reads, 1) << PrintPlan(plan);
  EXPECT_GE(writes, GetParam().writes ? 1 : 0) << PrintPlan(plan);
  for (int value = 0; value < static_cast<int>(without.values.size()); ++value) {
    EXPECT_FALSE(IsPart(without, value));
  }
  EXPECT_EQ(Run(graph, plan), Run(graph, without));
}

INSTANTIATE_TEST_SUITE_P(Families, PartsTest, testing::ValuesIn(kCases), [](const auto& info) {
  return absl::StrCat(info.param.family, "_", info.param.channels);
});

TEST(PartsOfStrangersTest, AreRefusedByFamiliesThatTakeNone) {
  const absl::StatusOr<std::unique_ptr<Executor>> executor = OpenExecutor("cpu", {.threads = 1});
  ASSERT_TRUE(executor.ok()) << executor.status();
  const Graph graph = ParseTyped(R"(graph {
  input %x: float32[1,16,8,8]
  const %w: float32[16,16,1,1] = synthetic 1
  %a = Conv(%x, %w)
  %b = Relu(%a)
  %y = Concat(%a, %b) {axis=1}
  %z = Relu(%y)
  output %z
}
)");
  FakeProfiler profiler;
  profiler.channels_last_factor = 0.1;
  const DeviceDescription& device = (*executor)->device();
  const Plan plan = PlansOf(graph, AllTakeParts(device), device, profiler).front();
  const absl::Status status = (*executor)->Load(graph, plan, NoWeights()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << PrintPlan(plan);
  EXPECT_THAT(std::string(status.message()), HasSubstr("kernel family \"conv\""));
}

}  // namespace
}  // namespace plait
