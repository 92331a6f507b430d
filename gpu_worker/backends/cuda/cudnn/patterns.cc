#include "gpu_worker/backends/cuda/cudnn/patterns.h"

#include <algorithm>

#include "gpu_worker/backends/cuda/problem/problem_shape.h"

namespace plait::cuda {
namespace {

// TF32 is a way to multiply, not a type: such tensors are fp32, and engines are chosen by notes.
cudnnDataType_t StorageOf(Precision precision) {
  switch (precision) {
    case Precision::kFp16:
      return CUDNN_DATA_HALF;
    case Precision::kBf16:
      return CUDNN_DATA_BFLOAT16;
    case Precision::kStrict:
    case Precision::kTf32:
      break;
  }
  return CUDNN_DATA_FLOAT;
}

// Chooses the pattern of a problem; what cuDNN cannot do at all gives nothing.
struct ChoosePattern {
  cudnnDataType_t storage;
  MemoryLayout layout;

  std::optional<CudnnGraph> operator()(const ConvProblem& problem) const {
    return BuildCudnnConv(problem, storage, layout);
  }
  std::optional<CudnnGraph> operator()(const GemmProblem& problem) const {
    return BuildCudnnMatmul(problem, storage);
  }
  std::optional<CudnnGraph> operator()(const AttentionProblem& problem) const {
    return BuildCudnnAttention(problem, storage);
  }
  std::optional<CudnnGraph> operator()(const PoolProblem& problem) const {
    return BuildCudnnPool(problem, storage, layout);
  }
  std::optional<CudnnGraph> operator()(const RowsProblem& problem) const {
    return BuildCudnnRows(problem, storage);
  }
  std::optional<CudnnGraph> operator()(const ScaleShiftProblem& problem) const {
    return BuildCudnnScaleShift(problem, storage, layout);
  }
  // Two convolutions in one graph, layers of cells, arbitrary chains and data movement: no engines.
  std::optional<CudnnGraph> operator()(const RecurrenceProblem&) const { return std::nullopt; }
  std::optional<CudnnGraph> operator()(const ResizeProblem&) const { return std::nullopt; }
  std::optional<CudnnGraph> operator()(const RecurrentLayerProblem&) const { return std::nullopt; }
  std::optional<CudnnGraph> operator()(const SeparableConvProblem&) const { return std::nullopt; }
  std::optional<CudnnGraph> operator()(const ElementwiseProblem&) const { return std::nullopt; }
  std::optional<CudnnGraph> operator()(const MovementProblem&) const { return std::nullopt; }
};

}  // namespace

std::optional<CudnnGraph> BuildCudnnGraph(const Problem& problem, Precision precision,
                                          MemoryLayout layout, const OperandPitches& pitches) {
  const bool is_dense = pitches.are_dense();
  if (!is_dense && !std::holds_alternative<ConvProblem>(problem)) return std::nullopt;
  std::optional<CudnnGraph> graph =
      std::visit(ChoosePattern{StorageOf(precision), layout}, problem);
  if (graph && !is_dense) graph->SetPitches(pitches);
  return graph;
}

std::optional<CudnnGraph> BuildCudnnPool(const PoolProblem& problem, cudnnDataType_t storage,
                                         MemoryLayout layout) {
  // The output's size is given. What a window reads beyond the stated padding (ceil_mode) becomes
  // padding behind the end, which an average that counts the padding must not count.
  const int64_t bottom =
      (problem.output_h - 1) * problem.stride[0] + problem.r - problem.h - problem.pad[0];
  const int64_t right =
      (problem.output_w - 1) * problem.stride[1] + problem.s - problem.w - problem.pad[1];
  // With kAverage and kMax the padding's length does not show, so only the third mode is refused.
  const bool is_longer = bottom > problem.pad[2] || right > problem.pad[3];
  CudnnResample resample{
      .window = {problem.r, problem.s},
      .stride = {problem.stride[0], problem.stride[1]},
      .pad_before = {problem.pad[0], problem.pad[1]},
      .pad_after = {std::max(bottom, problem.pad[2]), std::max(right, problem.pad[3])}};
  switch (problem.mode) {
    case PoolProblem::Mode::kMax:
      resample.mode = CUDNN_RESAMPLE_MAXPOOL;
      break;
    case PoolProblem::Mode::kAverage:
      resample.mode = CUDNN_RESAMPLE_AVGPOOL_EXCLUDE_PADDING;
      break;
    case PoolProblem::Mode::kAverageWithPadding:
      if (is_longer) return std::nullopt;
      resample.mode = CUDNN_RESAMPLE_AVGPOOL_INCLUDE_PADDING;
      break;
  }
  CudnnGraph graph(storage);
  const std::vector<int64_t> x_sizes = {problem.n, problem.c, problem.h, problem.w};
  const std::vector<int64_t> y_sizes = {problem.n, problem.c, problem.output_h, problem.output_w};
  const size_t x = graph.AddBound(kInputBinding, x_sizes, StridesOf(x_sizes, layout));
  graph.SetOutput(graph.Add(resample, {x}, y_sizes, StridesOf(y_sizes, layout)));
  return graph;
}

// cuDNN normalizes over all but the first dimension of a 4-d tensor. It has no pattern for softmax
// or reductions over rows, and none for normalizing a sum.
std::optional<CudnnGraph> BuildCudnnRows(const RowsProblem& problem, cudnnDataType_t storage) {
  if (problem.kind != RowsProblem::Kind::kLayerNorm || problem.residual) return std::nullopt;
  CudnnGraph graph(storage);
  const std::vector<int64_t> sizes = {problem.rows, problem.columns, 1, 1};
  const std::vector<int64_t> row_sizes = {1, problem.columns, 1, 1};
  const std::vector<int64_t> strides = StridesOf(sizes, MemoryLayout::kNhwc);
  const size_t x = graph.AddBound(kInputBinding, sizes, strides);
  const size_t scale = graph.AddBound(kWeightsBinding, row_sizes, strides);
  const size_t shift = graph.AddBound(kBiasBinding, row_sizes, strides);
  const size_t epsilon = graph.AddConstant(problem.epsilon, sizes.size());
  graph.SetOutput(graph.Add(CudnnLayerNorm{}, {x, scale, shift, epsilon}, sizes, strides));
  return graph;
}

// cuDNN's pointwise engines want the innermost dimension to be the channels. In kNchw that is the
// pixels, so they are called the channels, and the channels a height.
CudnnGraph BuildCudnnScaleShift(const ScaleShiftProblem& problem, cudnnDataType_t storage,
                                MemoryLayout layout) {
  CudnnGraph graph(storage);
  const bool channels_last = layout == MemoryLayout::kNhwc;
  const std::vector<int64_t> sizes =
      channels_last ? std::vector<int64_t>{problem.n, problem.c, problem.spatial, 1}
                    : std::vector<int64_t>{problem.n, problem.spatial, problem.c, 1};
  const std::vector<int64_t> channel_sizes = channels_last
                                                 ? std::vector<int64_t>{1, problem.c, 1, 1}
                                                 : std::vector<int64_t>{1, 1, problem.c, 1};
  const std::vector<int64_t> channel_strides = StridesOf(channel_sizes, MemoryLayout::kNhwc);
  const size_t x = graph.AddBound(kInputBinding, sizes, StridesOf(sizes, MemoryLayout::kNhwc));
  const size_t scale = graph.AddBound(kWeightsBinding, channel_sizes, channel_strides);
  const size_t shift = graph.AddBound(kBiasBinding, channel_sizes, channel_strides);
  size_t y = graph.AddPointwise({.mode = CUDNN_POINTWISE_MUL}, {x, scale});
  y = graph.AddPointwise({.mode = CUDNN_POINTWISE_ADD}, {y, shift});
  graph.SetOutput(graph.AddActivation(problem.activation, y));
  return graph;
}

}  // namespace plait::cuda
