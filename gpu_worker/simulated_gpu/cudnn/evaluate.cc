#include "gpu_worker/simulated_gpu/cudnn/evaluate.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <variant>

#include "gpu_worker/simulated_gpu/activations.h"
#include "gpu_worker/simulated_gpu/half_floats.h"
#include "gpu_worker/simulated_gpu/tensor_memory.h"

// Elementwise operations and reductions, and whole graphs.

namespace plait::simulated_gpu {
namespace {

using Sizes = std::vector<int64_t>;

// For every element of `to`, in order, the element of `from` that it has when sizes of one repeat.
std::vector<int64_t> Places(const Sizes& from, const Sizes& to) {
  Sizes steps(from.size());
  int64_t step = 1;
  for (size_t i = from.size(); i-- > 0;) {
    steps[i] = from[i] == 1 ? 0 : step;
    step *= from[i];
  }
  std::vector<int64_t> places(static_cast<size_t>(ElementsOf(to)));
  Sizes at(to.size());
  int64_t place = 0;
  for (int64_t& result : places) {
    result = place;
    for (size_t i = to.size(); i-- > 0;) {
      place += steps[i];
      if (++at[i] < to[i]) break;
      place -= steps[i] * to[i];
      at[i] = 0;
    }
  }
  return places;
}

double Unary(const PointwiseOperation& pointwise, double x) {
  switch (pointwise.mode) {
    case CUDNN_POINTWISE_RELU_FWD:
      return std::min(Relu(x), pointwise.upper_clip);
    case CUDNN_POINTWISE_GELU_FWD:
      return GeluErf(x);
    case CUDNN_POINTWISE_GELU_APPROX_TANH_FWD:
      return GeluTanh(x);
    case CUDNN_POINTWISE_SWISH_FWD:
      return x * Sigmoid(x);
    case CUDNN_POINTWISE_SIGMOID_FWD:
      return Sigmoid(x);
    case CUDNN_POINTWISE_TANH_FWD:
      return std::tanh(x);
    case CUDNN_POINTWISE_EXP:
      return std::exp(x);
    default:
      return std::log(x);  // CUDNN_POINTWISE_LOG, the last one that there is a stand-in for
  }
}

double Binary(cudnnPointwiseMode_t mode, double x, double b) {
  switch (mode) {
    case CUDNN_POINTWISE_ADD:
      return x + b;
    case CUDNN_POINTWISE_SUB:
      return x - b;
    case CUDNN_POINTWISE_MUL:
      return x * b;
    case CUDNN_POINTWISE_DIV:
      return x / b;
    default:
      return x >= b ? 1 : 0;  // CUDNN_POINTWISE_CMP_GE
  }
}

// Each element's place along an axis.
TensorValues Indices(int64_t axis, const Sizes& sizes) {
  int64_t inner = 1;
  for (size_t i = static_cast<size_t>(axis) + 1; i < sizes.size(); ++i) inner *= sizes[i];
  TensorValues values(static_cast<size_t>(ElementsOf(sizes)));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] =
        static_cast<double>(static_cast<int64_t>(i) / inner % sizes[static_cast<size_t>(axis)]);
  }
  return values;
}

// What is kept in 16 bits has lost the rest when the next operation reads it.
void RoundTo(cudnnDataType_t type, TensorValues* values) {
  for (double& value : *values) {
    if (type == CUDNN_DATA_HALF) value = FromHalf(ToHalf(static_cast<float>(value)));
    if (type == CUDNN_DATA_BFLOAT16) value = FromBfloat(ToBfloat(static_cast<float>(value)));
  }
}

bool IsProduct(const GraphOperation& operation) {
  return std::holds_alternative<ConvolutionOperation>(operation.parameters) ||
         std::holds_alternative<MatmulOperation>(operation.parameters);
}

TensorValues InTf32(TensorValues values) {
  for (double& value : values) value = RoundToTf32(static_cast<float>(value));
  return values;
}

}  // namespace

TensorValues Evaluate(const PointwiseOperation& pointwise, const std::vector<ShapedValues>& inputs,
                      const std::vector<int64_t>& sizes) {
  if (pointwise.mode == CUDNN_POINTWISE_GEN_INDEX) return Indices(pointwise.axis, sizes);
  std::vector<std::vector<int64_t>> places;
  for (const ShapedValues& input : inputs) places.push_back(Places(input.sizes, sizes));
  const auto operand = [&](size_t input, size_t i) {
    return inputs[input].values[static_cast<size_t>(places[input][i])];
  };
  TensorValues values(static_cast<size_t>(ElementsOf(sizes)));
  for (size_t i = 0; i < values.size(); ++i) {
    if (inputs.size() == 1) {
      values[i] = Unary(pointwise, operand(0, i));
    } else if (inputs.size() == 2) {
      values[i] = Binary(pointwise.mode, operand(0, i), operand(1, i));
    } else {
      values[i] = operand(2, i) != 0 ? operand(0, i) : operand(1, i);
    }
  }
  return values;
}

TensorValues Evaluate(const ReductionOperation& reduction, const std::vector<ShapedValues>& inputs,
                      const std::vector<int64_t>& sizes) {
  const bool is_sum = reduction.mode == CUDNN_REDUCE_TENSOR_ADD;
  const TensorValues& x = inputs[0].values;
  TensorValues values(static_cast<size_t>(ElementsOf(sizes)),
                      is_sum ? 0 : -std::numeric_limits<double>::infinity());
  const std::vector<int64_t> places = Places(sizes, inputs[0].sizes);
  for (size_t i = 0; i < x.size(); ++i) {
    double& to = values[static_cast<size_t>(places[i])];
    to = is_sum ? to + x[i] : std::max(to, x[i]);
  }
  return values;
}

void EvaluateGraph(const OperationGraph& graph, bool rounds_to_tf32,
                   std::vector<TensorValues>* values) {
  for (const GraphOperation& operation : graph.operations) {
    const bool rounds = rounds_to_tf32 && IsProduct(operation);
    std::deque<TensorValues> rounded;  // whose elements stay where they are
    std::vector<ShapedValues> inputs;
    for (const size_t input : operation.inputs) {
      const GraphTensor& tensor = graph.tensors[input];
      const bool is_rounded = rounds && tensor.type == CUDNN_DATA_FLOAT;
      const TensorValues& exact = (*values)[input];
      inputs.push_back({tensor.sizes, is_rounded ? rounded.emplace_back(InTf32(exact)) : exact});
    }
    const GraphTensor& output = graph.tensors[operation.output];
    TensorValues& result = (*values)[operation.output];
    result = std::visit(
        [&](const auto& parameters) { return Evaluate(parameters, inputs, output.sizes); },
        operation.parameters);
    RoundTo(output.type, &result);
  }
}

}  // namespace plait::simulated_gpu
