#include <utility>

#include "gpu_worker/backends/cuda/cudnn/patterns.h"
#include "gpu_worker/backends/cuda/problem/problem_shape.h"

namespace plait::cuda {

// The residual comes before the bias, as for convolutions.
CudnnGraph BuildCudnnMatmul(const GemmProblem& problem, cudnnDataType_t storage) {
  CudnnGraph graph(storage);
  int64_t batch = problem.batch;
  int64_t m = problem.m;
  // Against constant weights the batch is only more rows, if the rows lie one after another.
  if (problem.weights && !problem.transpose_a) m *= std::exchange(batch, 1);
  const int64_t k = problem.k;
  const int64_t n = problem.n;
  const int64_t b_batch = problem.weights ? 1 : batch;
  // A stored transpose is the same sizes with other strides: nothing is copied.
  const std::vector<int64_t> a_strides =
      problem.transpose_a ? std::vector<int64_t>{m * k, 1, m} : std::vector<int64_t>{m * k, k, 1};
  const std::vector<int64_t> b_strides =
      problem.transpose_b ? std::vector<int64_t>{k * n, 1, k} : std::vector<int64_t>{k * n, n, 1};
  const std::vector<int64_t> y_sizes = {batch, m, n};
  const std::vector<int64_t> y_strides = StridesOf(y_sizes, MemoryLayout::kNchw);
  const size_t a = graph.AddBound(kInputBinding, {batch, m, k}, a_strides);
  const size_t b = graph.AddBound(problem.weights ? kWeightsBinding : kInputBinding + 1,
                                  {b_batch, k, n}, b_strides);
  size_t y = graph.Add(CudnnMatmul{}, {a, b}, y_sizes, y_strides);
  if (problem.residual) {
    const size_t residual = graph.AddBound(kResidualBinding, y_sizes, y_strides);
    y = graph.AddPointwise({.mode = CUDNN_POINTWISE_ADD}, {y, residual});
  }
  if (problem.bias) {
    const size_t bias = graph.AddBound(kBiasBinding, {1, 1, n}, {n, n, 1});
    y = graph.AddPointwise({.mode = CUDNN_POINTWISE_ADD}, {y, bias});
  }
  graph.SetOutput(graph.AddActivation(problem.activation, y));
  return graph;
}

}  // namespace plait::cuda
