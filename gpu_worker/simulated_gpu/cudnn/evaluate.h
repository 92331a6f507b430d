#pragma once

#include <cstdint>
#include <vector>

#include "gpu_worker/simulated_gpu/cudnn/operation_graph.h"

namespace plait::simulated_gpu {

// Elements of a tensor in the order of its sizes, the last one fastest.
using TensorValues = std::vector<double>;

struct ShapedValues {
  const std::vector<int64_t>& sizes;
  const TensorValues& values;
};

// The result of one operation, in float64 and by its definition. `inputs` are in its order.
// REQUIRES: CheckOperation().
TensorValues Evaluate(const ConvolutionOperation& conv, const std::vector<ShapedValues>& inputs,
                      const std::vector<int64_t>& sizes);
TensorValues Evaluate(const PointwiseOperation& pointwise, const std::vector<ShapedValues>& inputs,
                      const std::vector<int64_t>& sizes);
TensorValues Evaluate(const MatmulOperation& matmul, const std::vector<ShapedValues>& inputs,
                      const std::vector<int64_t>& sizes);
TensorValues Evaluate(const ReductionOperation& reduction, const std::vector<ShapedValues>& inputs,
                      const std::vector<int64_t>& sizes);
TensorValues Evaluate(const ResampleOperation& resample, const std::vector<ShapedValues>& inputs,
                      const std::vector<int64_t>& sizes);
TensorValues Evaluate(const LayerNormOperation& norm, const std::vector<ShapedValues>& inputs,
                      const std::vector<int64_t>& sizes);
TensorValues Evaluate(const AttentionOperation& attention, const std::vector<ShapedValues>& inputs,
                      const std::vector<int64_t>& sizes);

// Computes all tensors of a graph: those that no operation writes are in `values` already, by their
// places. `rounds_to_tf32`: floats that are multiplied are rounded to TF32 first, as tensor cores
// do.
void EvaluateGraph(const OperationGraph& graph, bool rounds_to_tf32,
                   std::vector<TensorValues>* values);

}  // namespace plait::simulated_gpu
