#include <algorithm>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "gpu_worker/backends/cpu/offers/cpu_catalog.h"
#include "optimizer/ops/shared/op_spec.h"
#include "optimizer/plan/step_work.h"
#include "optimizer/search/predicted_plan.h"

// What networks are made of that join channels or go from images to tokens and back: in the plan
// that predicted times give, nothing is copied for it.
namespace plait {
namespace {

struct Network {
  const char* name;
  OpKind free;  // the operator that costs nothing
  int parts;    // tensors that are written where another has them, at least
  const char* graph;
};

void PrintTo(const Network& network, std::ostream* out) { *out << network.name; }

// Each layer of a dense block reads all before it; then a pool, as a transition has it.
constexpr char kDenseNet[] = R"(graph {
  input %in: float32[1,3,32,32]
  const %w0: float32[32,3,3,3] = synthetic 1
  const %w1: float32[48,32,1,1] = synthetic 2
  const %w2: float32[16,48,3,3] = synthetic 3
  const %w3: float32[48,48,1,1] = synthetic 4
  const %w4: float32[16,48,3,3] = synthetic 5
  const %w5: float32[32,64,1,1] = synthetic 6
  %x0 = Conv(%in, %w0) {pads=[1,1,1,1]}
  %x = Relu(%x0)
  %a0 = Conv(%x, %w1)
  %a1 = Relu(%a0)
  %a = Conv(%a1, %w2) {pads=[1,1,1,1]}
  %c1 = Concat(%x, %a) {axis=1}
  %r1 = Relu(%c1)
  %b0 = Conv(%r1, %w3)
  %b1 = Relu(%b0)
  %b = Conv(%b1, %w4) {pads=[1,1,1,1]}
  %c2 = Concat(%c1, %b) {axis=1}
  %r2 = Relu(%c2)
  %t = Conv(%r2, %w5)
  %y = AveragePool(%t) {kernel_shape=[2,2], strides=[2,2]}
  output %y
})";

// Branches of an Inception block, and of the one that halves the image.
constexpr char kInception[] = R"(graph {
  input %in: float32[1,3,35,35]
  const %w0: float32[32,3,3,3] = synthetic 1
  const %w1: float32[16,32,1,1] = synthetic 2
  const %w2: float32[24,16,5,5] = synthetic 3
  const %w3: float32[24,16,3,3] = synthetic 4
  const %w4: float32[24,32,1,1] = synthetic 5
  const %w5: float32[32,88,3,3] = synthetic 6
  %x0 = Conv(%in, %w0) {pads=[1,1,1,1]}
  %x = Relu(%x0)
  %a0 = Conv(%x, %w1)
  %a = Relu(%a0)
  %b0 = Conv(%a, %w2) {pads=[2,2,2,2]}
  %b = Relu(%b0)
  %c0 = Conv(%a, %w3) {pads=[1,1,1,1]}
  %c = Relu(%c0)
  %p = AveragePool(%x) {kernel_shape=[3,3], pads=[1,1,1,1]}
  %d0 = Conv(%p, %w4)
  %d = Relu(%d0)
  %j = Concat(%a, %b, %c, %d) {axis=1}
  %e0 = Conv(%j, %w5) {strides=[2,2]}
  %e = Relu(%e0)
  %f = MaxPool(%j) {kernel_shape=[3,3], strides=[2,2]}
  %k = Concat(%e, %f) {axis=1}
  %y = GlobalAveragePool(%k)
  output %y
})";

// Two fire modules.
constexpr char kSqueezeNet[] = R"(graph {
  input %in: float32[1,3,27,27]
  const %w0: float32[32,3,3,3] = synthetic 1
  const %s1: float32[16,32,1,1] = synthetic 2
  const %e1: float32[32,16,1,1] = synthetic 3
  const %f1: float32[32,16,3,3] = synthetic 4
  const %s2: float32[16,64,1,1] = synthetic 5
  %x0 = Conv(%in, %w0) {pads=[1,1,1,1]}
  %x = Relu(%x0)
  %a0 = Conv(%x, %s1)
  %a = Relu(%a0)
  %b0 = Conv(%a, %e1)
  %b = Relu(%b0)
  %c0 = Conv(%a, %f1) {pads=[1,1,1,1]}
  %c = Relu(%c0)
  %j = Concat(%b, %c) {axis=1}
  %d0 = Conv(%j, %s2)
  %d = Relu(%d0)
  %g0 = Conv(%d, %e1)
  %g = Relu(%g0)
  %h0 = Conv(%d, %f1) {pads=[1,1,1,1]}
  %h = Relu(%h0)
  %k = Concat(%g, %h) {axis=1}
  %y = GlobalAveragePool(%k)
  output %y
})";

// A cell: separable convolutions, pools and sums, all of which are joined.
constexpr char kNasNet[] = R"(graph {
  input %in: float32[1,3,28,28]
  const %w0: float32[44,3,3,3] = synthetic 1
  const %d1: float32[44,1,5,5] = synthetic 2
  const %p1: float32[44,44,1,1] = synthetic 3
  const %d2: float32[44,1,3,3] = synthetic 4
  const %p2: float32[44,44,1,1] = synthetic 5
  %x = Conv(%in, %w0) {pads=[1,1,1,1]}
  %r = Relu(%x)
  %a0 = Conv(%r, %d1) {group=44, pads=[2,2,2,2]}
  %a1 = Conv(%a0, %p1)
  %b0 = Conv(%r, %d2) {group=44, pads=[1,1,1,1]}
  %b1 = Conv(%b0, %p2)
  %a = Add(%a1, %b1)
  %m = AveragePool(%x) {kernel_shape=[3,3], pads=[1,1,1,1]}
  %b = Add(%m, %x)
  %c0 = Conv(%r, %d2) {group=44, pads=[1,1,1,1]}
  %c1 = Conv(%c0, %p1)
  %c = Add(%c1, %x)
  %j = Concat(%x, %a, %b, %c) {axis=1}
  %k = Relu(%j)
  %y = GlobalAveragePool(%k)
  output %y
})";

// Patches of an image become tokens, and a head reads the tokens.
constexpr char kViT[] = R"(graph {
  input %in: float32[1,3,56,56]
  const %w: float32[48,3,8,8] = synthetic 1
  const %b: float32[48] = synthetic 2
  const %flat: int64[3] = [1,48,49]
  const %q: float32[48,64] = synthetic 3
  const %p: float32[49,48] = synthetic 4
  %a = Conv(%in, %w, %b) {strides=[8,8]}
  %f = Reshape(%a, %flat)
  %t = Transpose(%f) {perm=[0,2,1]}
  %e = Add(%t, %p)
  %y = MatMul(%e, %q)
  output %y
})";

// Tokens become an image between two products, as in a SegFormer's feed-forward layers.
constexpr char kSegFormer[] = R"(graph {
  input %in: float32[1,196,32]
  const %w: float32[32,64] = synthetic 1
  const %d: float32[64,1,3,3] = synthetic 2
  const %v: float32[64,32] = synthetic 3
  const %image: int64[4] = [1,64,14,14]
  const %flat: int64[3] = [1,64,196]
  %a = MatMul(%in, %w)
  %b = Transpose(%a) {perm=[0,2,1]}
  %c = Reshape(%b, %image)
  %e = Conv(%c, %d) {group=64, pads=[1,1,1,1]}
  %f = Reshape(%e, %flat)
  %g = Transpose(%f) {perm=[0,2,1]}
  %h = Gelu(%g)
  %y = MatMul(%h, %v)
  output %y
})";

// The same kernels, which write no parts.
class WithoutParts : public CpuCatalog {
 public:
  using CpuCatalog::CpuCatalog;
  bool WritesParts(const Kernel& /*kernel*/) const override { return false; }
};

DeviceDescription TwoThreads() {
  DeviceDescription device;
  device.backend = "cpu";
  device.fingerprint = "described";
  device.instruction_set = "avx512";
  device.threads = 2;
  return device;
}

Plan PlanOf(const Graph& graph, const KernelCatalog& catalog) {
  absl::StatusOr<PlannedGraph> planned = PredictedPlan(graph, TwoThreads(), catalog, "engine");
  EXPECT_TRUE(planned.ok()) << planned.status();
  return planned.ok() ? std::move(planned->plan) : Plan();
}

// Steps that have such a node and compute nothing, but are not free.
int CopiesFor(OpKind op, const Plan& plan, const Graph& graph) {
  int copies = 0;
  for (const Step& step : plan.steps) {
    const bool has_one = std::any_of(step.kernel.nodes.begin(), step.kernel.nodes.end(),
                                     [&](NodeId node) { return graph.node(node).op == op; });
    copies += has_one && IsCopy(step, plan, graph) ? 1 : 0;
  }
  return copies;
}

class PlacedPartsTest : public testing::TestWithParam<Network> {};

TEST_P(PlacedPartsTest, NothingIsCopied) {
  const absl::StatusOr<Graph> graph = ParseTypedGraph(GetParam().graph);
  ASSERT_TRUE(graph.ok()) << graph.status();
  const Plan plan = PlanOf(*graph, CpuCatalog(TwoThreads()));
  EXPECT_EQ(CopiesFor(GetParam().free, plan, *graph), 0) << PrintPlan(plan);
  int parts = 0;
  for (const Value& value : plan.values) parts += value.first_channel >= 0 ? 1 : 0;
  EXPECT_GE(parts, GetParam().parts) << PrintPlan(plan);
  if (GetParam().parts > 0) {
    const Plan without = PlanOf(*graph, WithoutParts(TwoThreads()));
    EXPECT_GT(CopiesFor(GetParam().free, without, *graph), 0) << PrintPlan(without);
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, PlacedPartsTest,
                         testing::Values(Network{"DenseNet", OpKind::kConcat, 4, kDenseNet},
                                         Network{"Inception", OpKind::kConcat, 6, kInception},
                                         Network{"SqueezeNet", OpKind::kConcat, 4, kSqueezeNet},
                                         Network{"NasNet", OpKind::kConcat, 4, kNasNet},
                                         Network{"ViT", OpKind::kTranspose, 0, kViT},
                                         Network{"SegFormer", OpKind::kTranspose, 0, kSegFormer}),
                         [](const testing::TestParamInfo<Network>& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace plait
