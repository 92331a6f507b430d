#include "gpu_worker/backends/cuda/cudnn/patterns.h"

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/gpu_worker/backends/cuda/cudnn/test_cases.h"

namespace plait::cuda {
namespace {

CudnnGraph GraphOf(const std::string& name, Precision precision = Precision::kFp16) {
  std::optional<CudnnGraph> graph =
      BuildCudnnGraph(CudnnCaseProblem(name), precision, MemoryLayout::kNhwc);
  EXPECT_TRUE(graph.has_value()) << name;
  return graph ? *graph : CudnnGraph(CUDNN_DATA_FLOAT);
}

TEST(CudnnPatternsTest, AddTheResidualBeforeTheBias) {
  for (const char* name :
       {"conv_residual_bias_relu", "grouped_residual_bias_relu", "matmul_residual_bias"}) {
    SCOPED_TRACE(name);
    const CudnnGraph graph = GraphOf(name);
    std::vector<int64_t> added;
    for (const CudnnOperation& operation : graph.operations()) {
      const auto* pointwise = std::get_if<CudnnPointwise>(&operation.parameters);
      if (pointwise == nullptr || pointwise->mode != CUDNN_POINTWISE_ADD) continue;
      added.push_back(graph.tensors()[operation.inputs[1]].binding);
    }
    EXPECT_EQ(added, (std::vector<int64_t>{kResidualBinding, kBiasBinding}));
  }
}

TEST(CudnnPatternsTest, AreWhatTheProblemSays) {
  EXPECT_EQ(GraphOf("conv").Pattern(), "conv");
  EXPECT_EQ(GraphOf("conv_bias_relu").Pattern(), "conv add relu");
  EXPECT_EQ(GraphOf("conv_residual_bias_relu").Pattern(), "conv add add relu");
  EXPECT_EQ(GraphOf("conv_bias_relu6").Pattern(), "conv add relu6");
  EXPECT_EQ(GraphOf("conv_bias_silu").Pattern(), "conv add silu");
  EXPECT_EQ(GraphOf("relu_conv").Pattern(), "relu conv");
  EXPECT_EQ(GraphOf("matmul_bias_gelu").Pattern(), "matmul add gelu");
  EXPECT_EQ(GraphOf("attention").Pattern(), "attention");
  EXPECT_EQ(GraphOf("scale_shift_relu").Pattern(), "mul add relu");
}

TEST(CudnnPatternsTest, MaskedAttentionKeepsTheLogarithmThatNothingReads) {
  const CudnnGraph graph = GraphOf("attention_mask");
  EXPECT_EQ(graph.Pattern(),
            "matmul mul add reduce pointwise pointwise reduce pointwise add pointwise matmul");
  const CudnnTensor& weights = graph.tensors()[graph.operations().back().inputs[0]];
  EXPECT_TRUE(weights.is_virtual);
  EXPECT_EQ(weights.type, CUDNN_DATA_HALF) << "both operands of a product have one type";
}

TEST(CudnnPatternsTest, NumbersComeFromTheProblem) {
  const auto constants = [](const Problem& problem) {
    std::vector<float> values;
    const auto graph = BuildCudnnGraph(problem, Precision::kFp16, MemoryLayout::kNchw);
    for (const CudnnTensor& tensor : graph->tensors()) {
      if (tensor.by_value) values.push_back(*tensor.by_value);
    }
    return values;
  };
  AttentionProblem attention{.heads = 4, .query = 8, .keys = 8, .dim = 64};
  EXPECT_EQ(constants(attention), std::vector<float>{0.125F});
  attention.scale = 0.5F;
  EXPECT_EQ(constants(attention), std::vector<float>{0.5F});
  attention.mask = true;
  EXPECT_EQ(constants(attention), std::vector<float>{0.5F});
  EXPECT_EQ(constants(RowsProblem{
                .kind = RowsProblem::Kind::kLayerNorm, .rows = 2, .columns = 8, .epsilon = 1e-12F}),
            std::vector<float>{1e-12F});
}

TEST(CudnnPatternsTest, AMaskRepeatsWhereItHasOne) {
  AttentionProblem attention{
      .batch = 2, .heads = 4, .query = 8, .keys = 16, .dim = 64, .mask = true};
  const auto mask = [&] {
    const auto graph = BuildCudnnGraph(attention, Precision::kFp16, MemoryLayout::kNchw);
    for (const CudnnTensor& tensor : graph->tensors()) {
      if (tensor.binding == kInputBinding + 3) return tensor.sizes;
    }
    return std::vector<int64_t>();
  };
  EXPECT_EQ(mask(), (std::vector<int64_t>{2, 1, 8, 16}));
  attention.mask_batch = attention.mask_query = false;
  EXPECT_EQ(mask(), (std::vector<int64_t>{1, 1, 1, 16}));
  attention.mask_heads = true;
  EXPECT_EQ(mask(), (std::vector<int64_t>{1, 4, 1, 16}));
}

TEST(CudnnPatternsTest, HeadsLieInTheRowsOfProducts) {
  AttentionProblem attention{.heads = 4, .query = 8, .keys = 16, .dim = 64, .mask = true};
  attention.query_strides = attention.result_strides = {{2048, 64, 256, 1}};
  attention.key_strides = {{4096, 64, 256, 1}};
  const auto strides = [&](int binding) {
    const auto graph = BuildCudnnGraph(attention, Precision::kFp16, MemoryLayout::kNchw);
    for (const CudnnTensor& tensor : graph->tensors()) {
      if (tensor.binding == binding && !tensor.is_virtual) return tensor.strides;
    }
    return std::vector<int64_t>();
  };
  EXPECT_EQ(strides(kInputBinding), (std::vector<int64_t>{2048, 64, 256, 1}));
  // The keys are the second operand of a product.
  EXPECT_EQ(strides(kInputBinding + 1), (std::vector<int64_t>{4096, 64, 1, 256}));
  EXPECT_EQ(strides(kInputBinding + 2), (std::vector<int64_t>{4096, 1024, 64, 1}));
  EXPECT_EQ(strides(kOutputBinding), (std::vector<int64_t>{2048, 64, 256, 1}));
}

TEST(CudnnPatternsTest, StoreOnlyTheOutput) {
  for (const CudnnCase& known : CudnnCases()) {
    SCOPED_TRACE(known.name);
    const std::optional<CudnnGraph> graph =
        BuildCudnnGraph(known.problem, Precision::kBf16, MemoryLayout::kNchw);
    if (!graph) continue;
    int outputs = 0;
    for (const CudnnOperation& operation : graph->operations()) {
      const CudnnTensor& result = graph->tensors()[operation.output];
      if (result.is_virtual) continue;
      ++outputs;
      EXPECT_EQ(result.binding, kOutputBinding);
      EXPECT_EQ(result.type, CUDNN_DATA_BFLOAT16);
    }
    EXPECT_EQ(outputs, 1);
  }
}

TEST(CudnnPatternsTest, ChannelsLastIsInTheStrides) {
  const CudnnGraph graph = GraphOf("conv");
  const CudnnTensor& x = graph.tensors()[0];
  EXPECT_EQ(x.sizes, (std::vector<int64_t>{1, 64, 56, 56}));
  EXPECT_EQ(x.strides, (std::vector<int64_t>{64 * 56 * 56, 1, 56 * 64, 64}));
  const CudnnTensor& w = graph.tensors()[1];
  EXPECT_EQ(w.sizes, (std::vector<int64_t>{64, 64, 3, 3}));
  EXPECT_EQ(w.strides, (std::vector<int64_t>{64 * 9, 1, 3 * 64, 64}));
}

TEST(CudnnPatternsTest, AverageThatCountsPaddingNeverCountsWhatCeilModeAdds) {
  PoolProblem pool;
  pool.c = 8;
  pool.h = pool.w = 8;
  pool.r = pool.s = 3;
  pool.stride = {2, 2};
  pool.output_h = pool.output_w = 4;  // floor mode gives 3
  for (const auto mode : {PoolProblem::Mode::kMax, PoolProblem::Mode::kAverage}) {
    pool.mode = mode;
    EXPECT_TRUE(BuildCudnnGraph(pool, Precision::kTf32, MemoryLayout::kNchw).has_value());
  }
  pool.mode = PoolProblem::Mode::kAverageWithPadding;
  EXPECT_FALSE(BuildCudnnGraph(pool, Precision::kTf32, MemoryLayout::kNchw).has_value());
}

TEST(CudnnPatternsTest, KnowNoneForWhatCudnnCannotDo) {
  const auto known = [](const Problem& problem) {
    return BuildCudnnGraph(problem, Precision::kTf32, MemoryLayout::kNchw).has_value();
  };
  EXPECT_FALSE(known(CudnnCaseProblem("softmax")));
  EXPECT_FALSE(known(CudnnCaseProblem("layer_norm_residual")));
  EXPECT_FALSE(known(SeparableConvProblem()));
  EXPECT_FALSE(known(ElementwiseProblem()));
  EXPECT_FALSE(known(MovementProblem()));
}

}  // namespace
}  // namespace plait::cuda
