#include "gpu_worker/backends/cuda/offers/cuda_catalog.h"

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/substitute.h"
#include "gpu_worker/backends/cuda/offers/kernel_problem.h"
#include "optimizer/ops/shared/op_spec.h"

namespace plait::cuda {
namespace {

constexpr char kGraph[] = R"(graph {
  input %x: float32[4,8]
  input %i: int64[4,8]
  const %w: float32[8,8] = synthetic 1
  %a = MatMul(%x, %w) {}
  %b = Relu(%a) {}
  %c = Mod(%i, %i) {}
  output %b, %c
})";

class CudaCatalogTest : public testing::Test {
 protected:
  const Graph graph_ = *ParseTypedGraph(kGraph);
};

TEST_F(CudaCatalogTest, ProductsHaveALessExactFormWhereItsErrorsCanBeMeasured) {
  const CudaCatalog catalog({.tf32 = true});
  Kernel kernel = catalog.KernelsAt(graph_, 0, false).front();
  EXPECT_EQ(kernel.variant, "strict/auto");
  EXPECT_FALSE(catalog.NeedsAdmission(kernel));
  EXPECT_EQ(catalog.MoreExact(kernel), std::nullopt);
  ASSERT_EQ(catalog.LessExact(kernel), "tf32/auto");
  EXPECT_EQ(CudaCatalog({}).LessExact(kernel), std::nullopt);
  EXPECT_TRUE(catalog.HasPrecision("tf32"));
  EXPECT_FALSE(catalog.HasPrecision("bf16"));
  EXPECT_FALSE(CudaCatalog({}).HasPrecision("tf32"));
  kernel.variant = "tf32/auto";
  EXPECT_TRUE(catalog.NeedsAdmission(kernel));
  EXPECT_EQ(catalog.MoreExact(kernel), "strict/auto");
  EXPECT_EQ(catalog.LessExact(kernel), std::nullopt);
}

TEST_F(CudaCatalogTest, ProductsHaveAFormThatLeavesRoomWhereCandidatesAreTimed) {
  const CudaCatalog catalog({.tf32 = true, .narrow = true});
  const std::vector<Kernel> kernels = catalog.KernelsAt(graph_, 0, false);
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].variant, "strict/auto");
  EXPECT_EQ(kernels[1].variant, "strict/narrow");
  EXPECT_FALSE(catalog.LeavesRoom(kernels[0], 132));
  EXPECT_TRUE(catalog.LeavesRoom(kernels[1], 132));
  Kernel less_exact = kernels[1];
  less_exact.variant = catalog.LessExact(kernels[1]).value();
  EXPECT_EQ(less_exact.variant, "tf32/narrow");
  EXPECT_TRUE(catalog.LeavesRoom(less_exact, 132));
  EXPECT_TRUE(catalog.NeedsAdmission(less_exact));
  EXPECT_EQ(catalog.MoreExact(less_exact), "strict/narrow");
  // Of others there is nothing to choose from.
  EXPECT_EQ(catalog.KernelsAt(graph_, 1, false).size(), 1u);
  EXPECT_TRUE(CudaCatalog({}).LeavesRoom(kernels[0], 132));
}

TEST_F(CudaCatalogTest, FormsOf16BitsLeaveRoomToo) {
  const CudaCatalog catalog({.narrow = true, .fp16 = true, .bf16 = true});
  std::vector<std::string> variants;
  for (const Kernel& kernel : catalog.KernelsAt(graph_, 0, false)) {
    variants.push_back(kernel.variant);
    EXPECT_EQ(catalog.LeavesRoom(kernel, 132), absl::EndsWith(kernel.variant, "/narrow"));
    EXPECT_EQ(catalog.NeedsAdmission(kernel), !absl::StartsWith(kernel.variant, "strict/"));
    EXPECT_EQ(catalog.OfferedVariant(kernel), kernel.variant);
    EXPECT_TRUE(ProblemOfKernel(graph_, kernel).has_value()) << kernel.variant;
  }
  EXPECT_EQ(variants, (std::vector<std::string>{"strict/auto", "strict/narrow", "fp16/auto",
                                                "fp16/narrow", "bf16/auto", "bf16/narrow"}));
  for (const Kernel& kernel : CudaCatalog({.fp16 = true}).KernelsAt(graph_, 0, false)) {
    EXPECT_FALSE(absl::EndsWith(kernel.variant, "/narrow"));
  }
}

// In 16 bits images lie in channels-last alone, and a layer that cannot be measured stays in fp32.
TEST_F(CudaCatalogTest, ProductsHaveFormsOf16BitsWhereTheyAreAskedFor) {
  const plait::Graph graph = *ParseTypedGraph(R"(graph {
  input %x: float32[1,8,6,6]
  input %z: float32[1,8,8,6]
  const %w: float32[4,8,3,3] = synthetic 1
  %y = Conv(%x, %w) {pads=[1,1,1,1]}
  %s = MatMul(%z, %x)
  %f = Flatten(%y)
  output %s, %f
})");
  const CudaCatalog catalog({.fp16 = true});
  const std::vector<Kernel> convs = catalog.KernelsAt(graph, 0, false);
  ASSERT_EQ(convs.size(), 3u);
  const Kernel& half = convs.back();
  EXPECT_EQ(half.variant, "fp16/auto");
  EXPECT_EQ(half.input_formats, std::vector{Format::kF16ChannelsLast});
  EXPECT_EQ(half.output_formats, std::vector{Format::kF16ChannelsLast});
  EXPECT_TRUE(catalog.NeedsAdmission(half));
  EXPECT_EQ(catalog.MoreExact(half), std::nullopt);
  EXPECT_EQ(catalog.LessExact(half), std::nullopt);
  EXPECT_FALSE(catalog.ReadsParts(half));
  Kernel chosen = half;
  chosen.variant = "fp16/cudnn/eng28/k2=1";
  EXPECT_EQ(catalog.OfferedVariant(chosen), "fp16/auto");
  for (const Kernel& kernel : catalog.KernelsAt(graph, 1, true)) {
    EXPECT_EQ(kernel.variant, "strict/auto");
  }
  // A view computes nothing, and needs no measurement.
  const std::vector<Kernel> views = catalog.KernelsAt(graph, 2, false);
  EXPECT_TRUE(std::any_of(views.begin(), views.end(), [&](const Kernel& view) {
    return view.family == kViewFamily && view.output_formats == std::vector{Format::kF16} &&
           !catalog.NeedsAdmission(view);
  }));
  EXPECT_TRUE(catalog.HasPrecision("fp16"));
  EXPECT_FALSE(catalog.HasPrecision("bf16"));
  EXPECT_EQ(CudaCatalog({.bf16 = true}).KernelsAt(graph, 0, false).back().variant, "bf16/auto");
  EXPECT_EQ(CudaCatalog({.tf32 = true}).KernelsAt(graph, 0, false).size(), 2u);
}

// Several kernels have a price each, and are offered on their own. Ours computes a depthwise
// convolution behind a Relu, and in TF32 cuDNN a product with a sigmoid.
TEST_F(CudaCatalogTest, WhatNoKernelComputesWholeInFp32IsNotOfferedButForProducts) {
  const plait::Graph graph = *ParseTypedGraph(R"(graph {
  input %x: float32[1,8,6,6]
  input %z: float32[4,8]
  const %w: float32[4,8,3,3] = synthetic 1
  const %d: float32[8,1,3,3] = synthetic 2
  const %m: float32[8,8] = synthetic 3
  %a = Relu(%x)
  %b = Conv(%a, %w) {pads=[1,1,1,1]}
  %c = Abs(%x)
  %e = Relu(%c)
  %f = Conv(%e, %d) {pads=[1,1,1,1], group=8}
  %p = MatMul(%z, %m)
  %s = Sigmoid(%p)
  %q = Conv(%x, %w) {pads=[1,1,1,1]}
  %r = Relu(%q)
  output %b, %f, %s, %r
})");
  const auto fused = [&](NodeId node) {
    std::vector<plait::Kernel> kernels = CudaCatalog({}).KernelsAt(graph, node, true);
    std::erase_if(kernels, [](const plait::Kernel& kernel) {
      const bool multiplies = kernel.family == "conv" || kernel.family == "matmul";
      return !multiplies || kernel.nodes.size() == 1;
    });
    return kernels;
  };
  EXPECT_EQ(fused(0).size(), 0u);
  EXPECT_EQ(fused(3).size(), 2u);
  EXPECT_EQ(fused(5).size(), 1u);
  // Without a bias cuDNN compiles it in channels-last alone.
  ASSERT_EQ(fused(7).size(), 1u);
  EXPECT_EQ(fused(7)[0].input_formats, std::vector{Format::kChannelsLast});
}

TEST_F(CudaCatalogTest, WhatADeviceChoseWasOfferedOpen) {
  const CudaCatalog catalog({.tf32 = true});
  Kernel kernel = catalog.KernelsAt(graph_, 0, false).front();
  EXPECT_EQ(catalog.OfferedVariant(kernel), "strict/auto");
  kernel.variant = "strict/cudnn/eng28/k2=1";
  EXPECT_EQ(catalog.OfferedVariant(kernel), "strict/auto");
  kernel.variant = "tf32/parts:cublaslt/algo13|generated/elementwise/v4";
  EXPECT_EQ(catalog.OfferedVariant(kernel), "tf32/auto");
  Kernel reorder = catalog.Reorder({}, Format::kPlain, Format::kChannelsLast);
  const std::string offered = reorder.variant;
  reorder.variant = "strict/generated/transpose/tiled";
  EXPECT_EQ(catalog.OfferedVariant(reorder), offered);
}

TEST_F(CudaCatalogTest, OneNodeKernelsComeFirstAndAreAllThatABaselineTakes) {
  const CudaCatalog catalog({});
  const std::vector<Kernel> alone = catalog.KernelsAt(graph_, 0, false);
  const std::vector<Kernel> all = catalog.KernelsAt(graph_, 0, true);
  ASSERT_EQ(alone.size(), 1u);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all.front(), alone.front());
  EXPECT_EQ(all.back().nodes, std::vector<NodeId>({0, 1}));
}

// Few blocks with much to do each take longer than both halves apart.
TEST(SeparableOffersTest, AreOfManyBlocksForTheirChannels) {
  for (const auto& [size, channels, is_offered] :
       {std::tuple(56, 11, true), {28, 22, true}, {28, 44, false}, {7, 176, false}}) {
    const absl::StatusOr<Graph> graph = ParseTypedGraph(absl::Substitute(R"(graph {
  input %x: float32[1,$0,$1,$1]
  const %d: float32[$0,1,3,3] = synthetic 1
  const %p: float32[$0,$0,1,1] = synthetic 2
  %a = Conv(%x, %d) {group=$0, pads=[1,1,1,1]}
  %b = Conv(%a, %p) {}
  output %b
})",
                                                                         channels, size));
    ASSERT_TRUE(graph.ok()) << graph.status();
    const std::vector<Kernel> kernels = CudaCatalog({}).KernelsAt(*graph, 0, true);
    EXPECT_EQ(kernels.back().family == "separable", is_offered) << size << " " << channels;
  }
}

TEST_F(CudaCatalogTest, WhatTheDeviceDoesNotRunIsTheHosts) {
  const std::vector<Kernel> kernels = CudaCatalog({}).KernelsAt(graph_, 2, true);
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels.front().family, "other");
}

// One of as many elements as a row may broadcast as a column.
TEST(RowsOffersTest, ScalesAndShiftsOfNormalizationsAreRows) {
  for (const auto& [shape, family] :
       {std::pair("[16]", "rows"), {"[1,16]", "rows"}, {"[16,1]", "other"}, {"[16,16]", "other"}}) {
    const absl::StatusOr<Graph> graph = ParseTypedGraph(absl::Substitute(R"(graph {
  input %x: float32[2,16,16]
  const %s: float32$0 = synthetic 1
  %y = LayerNormalization(%x, %s) {}
  output %y
})",
                                                                         shape));
    ASSERT_TRUE(graph.ok()) << graph.status();
    EXPECT_EQ(CudaCatalog({}).KernelsAt(*graph, 0, true).front().family, family) << shape;
  }
}

}  // namespace
}  // namespace plait::cuda
