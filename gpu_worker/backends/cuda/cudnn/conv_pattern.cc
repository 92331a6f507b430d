#include "gpu_worker/backends/cuda/cudnn/patterns.h"
#include "gpu_worker/backends/cuda/problem/problem_shape.h"

namespace plait::cuda {

// The residual comes before the bias. The result is the same, but for conv + residual + bias +
// activation cuDNN 9 has some thirty precompiled engines, for conv + bias + residual + activation
// three that are compiled at run time.
CudnnGraph BuildCudnnConv(const ConvProblem& problem, cudnnDataType_t storage,
                          MemoryLayout layout) {
  CudnnGraph graph(storage);
  const std::vector<int64_t> x_sizes = {problem.n, problem.c, problem.h, problem.w};
  // cuDNN reads the groups from the sizes: a window of c / groups channels over an input of c.
  const std::vector<int64_t> w_sizes = {problem.k, problem.c / problem.groups, problem.r,
                                        problem.s};
  const std::vector<int64_t> y_sizes = {problem.n, problem.k, problem.output_h(),
                                        problem.output_w()};
  const std::vector<int64_t> y_strides = StridesOf(y_sizes, layout);
  size_t x = graph.AddBound(kInputBinding, x_sizes, StridesOf(x_sizes, layout));
  const size_t w = graph.AddBound(kWeightsBinding, w_sizes, StridesOf(w_sizes, layout));
  if (problem.prologue_relu) {
    x = graph.AddPointwise({.mode = CUDNN_POINTWISE_RELU_FWD}, {x});
    graph.SetType(x, storage);  // both operands of a convolution have one type
  }
  size_t y = graph.Add(CudnnConvolution{.stride = {problem.stride[0], problem.stride[1]},
                                        .dilation = {problem.dilation[0], problem.dilation[1]},
                                        .pad_before = {problem.pad[0], problem.pad[1]},
                                        .pad_after = {problem.pad[2], problem.pad[3]}},
                       {x, w}, y_sizes, y_strides);
  if (problem.residual) {
    const size_t residual = graph.AddBound(kResidualBinding, y_sizes, y_strides);
    y = graph.AddPointwise({.mode = CUDNN_POINTWISE_ADD}, {y, residual});
  }
  if (problem.bias) {
    const std::vector<int64_t> sizes = {1, problem.k, 1, 1};
    const size_t bias = graph.AddBound(kBiasBinding, sizes, StridesOf(sizes, layout));
    y = graph.AddPointwise({.mode = CUDNN_POINTWISE_ADD}, {y, bias});
  }
  graph.SetOutput(graph.AddActivation(problem.activation, y));
  return graph;
}

}  // namespace plait::cuda
