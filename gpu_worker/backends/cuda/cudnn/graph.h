#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <cudnn.h>

#include "gpu_worker/backends/cuda/problem/problem.h"

namespace plait::cuda {

// What a tensor of a CudnnGraph is bound to when it runs, and its unique id for cuDNN.
enum CudnnBinding : int64_t {
  kInputBinding = 1,  // Operands::inputs[i] is kInputBinding + i
  kWeightsBinding = 32,
  kBiasBinding = 33,
  kResidualBinding = 34,
  kOutputBinding = 40,
  kFreeBinding = 100,  // from here on: intermediate tensors and constants
};

struct CudnnTensor {
  std::vector<int64_t> sizes = {}, strides = {};  // strides in elements, one per size
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  int64_t binding = kFreeBinding;
  bool is_virtual = false;                       // never in memory
  std::optional<float> by_value = std::nullopt;  // a constant in host memory
};

// The parameters of one operation of the graph, named as cuDNN names them.
struct CudnnConvolution {
  std::vector<int64_t> stride = {}, dilation = {}, pad_before = {}, pad_after = {};
};
struct CudnnPointwise {
  cudnnPointwiseMode_t mode = CUDNN_POINTWISE_ADD;
  std::optional<double> upper_clip = std::nullopt;  // of CUDNN_POINTWISE_RELU_FWD
  int64_t axis = -1;                                // of CUDNN_POINTWISE_GEN_INDEX
};
struct CudnnMatmul {};
struct CudnnReduction {
  cudnnReduceTensorOp_t mode = CUDNN_REDUCE_TENSOR_ADD;
};
struct CudnnResample {
  cudnnResampleMode_t mode = CUDNN_RESAMPLE_MAXPOOL;
  std::vector<int64_t> window = {}, stride = {}, pad_before = {}, pad_after = {};
};
struct CudnnLayerNorm {};  // inputs: x, scale, shift, epsilon
struct CudnnAttention {};  // inputs: q, k, v, scale; one fused operation

using CudnnParameters = std::variant<CudnnConvolution, CudnnPointwise, CudnnMatmul, CudnnReduction,
                                     CudnnResample, CudnnLayerNorm, CudnnAttention>;

// One operation; tensors by their index in the graph.
struct CudnnOperation {
  CudnnParameters parameters;
  std::vector<size_t> inputs;
  size_t output = 0;
};

// A computation as cuDNN's backend takes it, as plain data: which operations in which order decides
// which engines cuDNN offers. Activations have type `storage`; what lies between operations is
// virtual and fp32, and so is all arithmetic. Not thread-safe while it is built.
class CudnnGraph {
 public:
  explicit CudnnGraph(cudnnDataType_t storage) : storage_(storage) {}

  // A tensor that the caller binds. Each adder returns the tensor's index.
  size_t AddBound(int64_t binding, std::vector<int64_t> sizes, std::vector<int64_t> strides);
  // A number that the operation reads from host memory.
  size_t AddConstant(float value, size_t rank);
  // An operation whose result has these sizes and strides and is virtual until it is an output.
  size_t Add(CudnnParameters parameters, std::vector<size_t> inputs, std::vector<int64_t> sizes,
             std::vector<int64_t> strides);
  // A pointwise operation with the sizes and strides of its first input.
  size_t AddPointwise(CudnnPointwise pointwise, std::vector<size_t> inputs);
  // The activation of `input`; `input` itself for Activation::kNone.
  size_t AddActivation(Activation activation, size_t input);
  // What an operation computed is stored to Operands::outputs[0].
  void SetOutput(size_t tensor);
  // Makes a virtual tensor hold another type than fp32.
  void SetType(size_t tensor, cudnnDataType_t type) { tensors_[tensor].type = type; }

  const std::vector<CudnnTensor>& tensors() const { return tensors_; }
  const std::vector<CudnnOperation>& operations() const { return operations_; }

  // Whether an operation sums products, so that tensor cores could compute it.
  bool HasProducts() const;

  // "conv add add relu": the operations' names in order, for messages and tests.
  std::string Pattern() const;

 private:
  cudnnDataType_t storage_;
  std::vector<CudnnTensor> tensors_;
  std::vector<CudnnOperation> operations_;
};

}  // namespace plait::cuda
