#include "gpu_worker/backends/cuda/cudnn/graph.h"

#include <algorithm>
#include <utility>

namespace plait::cuda {
namespace {

// Names for people and tests; cuDNN never sees them.
struct PatternName {
  const char* operator()(const CudnnConvolution&) const { return "conv"; }
  const char* operator()(const CudnnMatmul&) const { return "matmul"; }
  const char* operator()(const CudnnReduction&) const { return "reduce"; }
  const char* operator()(const CudnnResample&) const { return "resample"; }
  const char* operator()(const CudnnLayerNorm&) const { return "layer_norm"; }
  const char* operator()(const CudnnAttention&) const { return "attention"; }
  const char* operator()(const CudnnPointwise& pointwise) const {
    switch (pointwise.mode) {
      case CUDNN_POINTWISE_ADD:
        return "add";
      case CUDNN_POINTWISE_MUL:
        return "mul";
      case CUDNN_POINTWISE_RELU_FWD:
        return pointwise.upper_clip ? "relu6" : "relu";
      case CUDNN_POINTWISE_GELU_FWD:
        return "gelu";
      case CUDNN_POINTWISE_GELU_APPROX_TANH_FWD:
        return "gelu_tanh";
      case CUDNN_POINTWISE_SWISH_FWD:
        return "silu";
      case CUDNN_POINTWISE_SIGMOID_FWD:
        return "sigmoid";
      case CUDNN_POINTWISE_TANH_FWD:
        return "tanh";
      default:
        return "pointwise";
    }
  }
};

}  // namespace

// Strides decide the layout: cuDNN sees n, c, h, w in this order, whatever lies beside what.
size_t CudnnGraph::AddBound(int64_t binding, std::vector<int64_t> sizes,
                            std::vector<int64_t> strides) {
  tensors_.push_back({.sizes = std::move(sizes),
                      .strides = std::move(strides),
                      .type = storage_,
                      .binding = binding});
  return tensors_.size() - 1;
}

size_t CudnnGraph::AddConstant(float value, size_t rank) {
  const int64_t binding = kFreeBinding + static_cast<int64_t>(tensors_.size());
  tensors_.push_back({.sizes = std::vector<int64_t>(rank, 1),
                      .strides = std::vector<int64_t>(rank, 1),
                      .type = CUDNN_DATA_FLOAT,
                      .binding = binding,
                      .by_value = value});
  return tensors_.size() - 1;
}

size_t CudnnGraph::Add(CudnnParameters parameters, std::vector<size_t> inputs,
                       std::vector<int64_t> sizes, std::vector<int64_t> strides) {
  // The index makes the id unique, as at most one tensor has it.
  const size_t output = tensors_.size();
  tensors_.push_back({.sizes = std::move(sizes),
                      .strides = std::move(strides),
                      .type = CUDNN_DATA_FLOAT,
                      .binding = kFreeBinding + static_cast<int64_t>(output),
                      .is_virtual = true});
  operations_.push_back({std::move(parameters), std::move(inputs), output});
  return output;
}

size_t CudnnGraph::AddPointwise(CudnnPointwise pointwise, std::vector<size_t> inputs) {
  // A copy: Add() may move the tensors.
  const CudnnTensor like = tensors_[inputs[0]];
  return Add(pointwise, std::move(inputs), like.sizes, like.strides);
}

size_t CudnnGraph::AddActivation(Activation activation, size_t input) {
  CudnnPointwise pointwise;
  switch (activation) {
    case Activation::kNone:
      return input;
    // cuDNN has one ReLU, with bounds.
    case Activation::kRelu6:
      pointwise.upper_clip = 6.0;
      [[fallthrough]];
    case Activation::kRelu:
      pointwise.mode = CUDNN_POINTWISE_RELU_FWD;
      break;
    // cuDNN has both forms; to take one for the other would be another result.
    case Activation::kGelu:
      pointwise.mode = CUDNN_POINTWISE_GELU_FWD;
      break;
    case Activation::kGeluTanh:
      pointwise.mode = CUDNN_POINTWISE_GELU_APPROX_TANH_FWD;
      break;
    case Activation::kSilu:
      pointwise.mode = CUDNN_POINTWISE_SWISH_FWD;
      break;
    case Activation::kSigmoid:
      pointwise.mode = CUDNN_POINTWISE_SIGMOID_FWD;
      break;
    case Activation::kTanh:
      pointwise.mode = CUDNN_POINTWISE_TANH_FWD;
      break;
  }
  return AddPointwise(pointwise, {input});
}

// From virtual to real: the last operation then writes to memory.
void CudnnGraph::SetOutput(size_t tensor) {
  tensors_[tensor].is_virtual = false;
  tensors_[tensor].type = storage_;
  tensors_[tensor].binding = kOutputBinding;
}

void CudnnGraph::SetPitches(const OperandPitches& pitches) {
  for (CudnnTensor& tensor : tensors_) {
    if (tensor.is_virtual || tensor.by_value) continue;
    PixelPitch pitch;
    if (tensor.binding == kOutputBinding) pitch = pitches.output(0);
    if (tensor.binding == kResidualBinding) pitch = pitches.residual;
    if (tensor.binding < kWeightsBinding) {
      pitch = pitches.input(static_cast<size_t>(tensor.binding - kInputBinding));
    }
    if (pitch.is_dense()) continue;
    for (size_t i = 0; i < tensor.strides.size(); ++i) {
      if (i != 1) tensor.strides[i] = tensor.strides[i] / pitch.channels * pitch.pitch;
    }
  }
}

bool CudnnGraph::HasProducts() const {
  return std::any_of(operations_.begin(), operations_.end(), [](const CudnnOperation& operation) {
    return std::holds_alternative<CudnnConvolution>(operation.parameters) ||
           std::holds_alternative<CudnnMatmul>(operation.parameters) ||
           std::holds_alternative<CudnnAttention>(operation.parameters);
  });
}

std::string CudnnGraph::Pattern() const {
  std::string pattern;
  for (const CudnnOperation& operation : operations_) {
    if (!pattern.empty()) pattern += ' ';
    pattern += std::visit(PatternName(), operation.parameters);
  }
  return pattern;
}

}  // namespace plait::cuda
