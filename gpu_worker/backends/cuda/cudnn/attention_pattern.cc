#include <limits>

#include "gpu_worker/backends/cuda/cudnn/patterns.h"
#include "gpu_worker/backends/cuda/problem/problem_shape.h"

namespace plait::cuda {
namespace {

// The operands that both forms of attention read.
struct AttentionTensors {
  size_t q = 0, k = 0, v = 0, scale = 0;
};

std::vector<int64_t> Strides(const AttentionProblem& problem,
                             const std::optional<AttentionProblem::Strides>& given, int64_t rows) {
  const AttentionProblem::Strides strides = HeadStrides(problem, given, rows);
  return {strides.begin(), strides.end()};
}

// `transposed_keys`: the keys as the second operand of q k^T.
AttentionTensors AddOperands(const AttentionProblem& problem, bool transposed_keys,
                             CudnnGraph* graph) {
  const std::vector<int64_t> q_sizes = {problem.batch, problem.heads, problem.query, problem.dim};
  const std::vector<int64_t> k_sizes = {problem.batch, problem.heads, problem.keys, problem.dim};
  const std::vector<int64_t> k_strides = Strides(problem, problem.key_strides, problem.keys);
  AttentionTensors tensors;
  tensors.q = graph->AddBound(kInputBinding, q_sizes,
                              Strides(problem, problem.query_strides, problem.query));
  tensors.k =
      transposed_keys
          ? graph->AddBound(kInputBinding + 1, {k_sizes[0], k_sizes[1], k_sizes[3], k_sizes[2]},
                            {k_strides[0], k_strides[1], k_strides[3], k_strides[2]})
          : graph->AddBound(kInputBinding + 1, k_sizes, k_strides);
  tensors.v = graph->AddBound(kInputBinding + 2, k_sizes,
                              Strides(problem, problem.value_strides, problem.keys));
  // By value: read when the plan is launched, without memory on the device.
  tensors.scale = graph->AddConstant(problem.factor(), q_sizes.size());
  return tensors;
}

// scores where the key is not behind the query, minus infinity elsewhere.
size_t AddCausalMask(size_t scores, CudnnGraph* graph) {
  // GEN_INDEX writes each element's place along an axis: 2 is the query, 3 the key.
  const size_t row = graph->AddPointwise({.mode = CUDNN_POINTWISE_GEN_INDEX, .axis = 2}, {scores});
  const size_t column =
      graph->AddPointwise({.mode = CUDNN_POINTWISE_GEN_INDEX, .axis = 3}, {scores});
  graph->SetType(row, CUDNN_DATA_INT32);
  graph->SetType(column, CUDNN_DATA_INT32);
  const size_t visible = graph->AddPointwise({.mode = CUDNN_POINTWISE_CMP_GE}, {row, column});
  graph->SetType(visible, CUDNN_DATA_BOOLEAN);
  const size_t hidden = graph->AddConstant(-std::numeric_limits<float>::infinity(), 4);
  return graph->AddPointwise({.mode = CUDNN_POINTWISE_BINARY_SELECT}, {scores, hidden, visible});
}

// softmax over the keys in the exact form that cuDNN's attention engines match: without the
// logarithm and the sum, which nothing reads, there is no engine.
size_t AddSoftmax(size_t scores, CudnnGraph* graph) {
  const CudnnTensor like = graph->tensors()[scores];
  const std::vector<int64_t> sizes = {like.sizes[0], like.sizes[1], like.sizes[2], 1};
  const std::vector<int64_t> strides = StridesOf(sizes, MemoryLayout::kNchw);
  const size_t largest =
      graph->Add(CudnnReduction{.mode = CUDNN_REDUCE_TENSOR_MAX}, {scores}, sizes, strides);
  // Less the largest score, so that exp() stays finite.
  const size_t shifted = graph->AddPointwise({.mode = CUDNN_POINTWISE_SUB}, {scores, largest});
  const size_t powers = graph->AddPointwise({.mode = CUDNN_POINTWISE_EXP}, {shifted});
  const size_t sum =
      graph->Add(CudnnReduction{.mode = CUDNN_REDUCE_TENSOR_ADD}, {powers}, sizes, strides);
  const size_t logarithm = graph->AddPointwise({.mode = CUDNN_POINTWISE_LOG}, {sum});
  graph->AddPointwise({.mode = CUDNN_POINTWISE_ADD}, {largest, logarithm});
  return graph->AddPointwise({.mode = CUDNN_POINTWISE_DIV}, {powers, sum});
}

}  // namespace

CudnnGraph BuildCudnnAttention(const AttentionProblem& problem, cudnnDataType_t storage) {
  CudnnGraph graph(storage);
  const std::vector<int64_t> o_sizes = {problem.batch, problem.heads, problem.query, problem.dim};
  const std::vector<int64_t> o_strides = Strides(problem, problem.result_strides, problem.query);
  // The one operation is asked for where it says all; a mask wants the pattern of single
  // operations.
  if (!problem.mask && !problem.causal) {
    const AttentionTensors tensors = AddOperands(problem, false, &graph);
    graph.SetOutput(graph.Add(CudnnAttention{}, {tensors.q, tensors.k, tensors.v, tensors.scale},
                              o_sizes, o_strides));
    return graph;
  }
  const AttentionTensors tensors = AddOperands(problem, true, &graph);
  const std::vector<int64_t> sizes = {problem.batch, problem.heads, problem.query, problem.keys};
  size_t scores = graph.Add(CudnnMatmul{}, {tensors.q, tensors.k}, sizes,
                            StridesOf(sizes, MemoryLayout::kNchw));
  scores = graph.AddPointwise({.mode = CUDNN_POINTWISE_MUL}, {scores, tensors.scale});
  if (problem.mask) {
    const std::vector<int64_t> mask_sizes = MaskShape(problem);
    const size_t mask =
        graph.AddBound(kInputBinding + 3, mask_sizes, StridesOf(mask_sizes, MemoryLayout::kNchw));
    scores = graph.AddPointwise({.mode = CUDNN_POINTWISE_ADD}, {scores, mask});
  }
  if (problem.causal) scores = AddCausalMask(scores, &graph);
  const size_t weights = AddSoftmax(scores, &graph);
  graph.SetType(weights, storage);  // both operands of a matrix product have one type
  graph.SetOutput(graph.Add(CudnnMatmul{}, {weights, tensors.v}, o_sizes, o_strides));
  return graph;
}

}  // namespace plait::cuda
