#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <cudnn.h>

#include "gpu_worker/backends/cuda/problem/pixel_pitch.h"
#include "gpu_worker/backends/cuda/problem/problem.h"

// How cuDNN 9 is asked for a problem, through its backend interface, from the problem to the
// launch:
//   patterns.h    the operations by which a problem is asked for, in files named after them
//   graph.h       those operations as plain data, that tests can read
//   lower.h       the data as cuDNN's descriptors
//   descriptor.h  one descriptor, with its errors kept until the end
//   engines.h     the engines and knobs that cuDNN lists for the descriptors
//   candidate.h   one of them as a Candidate: built into a plan, bound to addresses, launched
//   source.h      all of it as a source of candidates
//   library.h     the functions of the library, opened at run time, and handles per thread
// The backend interface and not the C++ frontend: the notes of each engine are needed, no
// exceptions are wanted, and most of this runs without a GPU, for a device that is only described.

namespace plait::cuda {

// What a tensor of a CudnnGraph is bound to when it runs, and its unique id for cuDNN.
// cuDNN wants every tensor's id to be unique in its graph; ours say at once where the address is
// found. Fixed numbers leave room for 31 inputs and keep the ids of equal problems equal.
enum CudnnBinding : int64_t {
  kInputBinding = 1,  // Operands::inputs[i] is kInputBinding + i
  kWeightsBinding = 32,
  kBiasBinding = 33,
  kResidualBinding = 34,
  kOutputBinding = 40,
  kFreeBinding = 100,  // from here on: intermediate tensors and constants
};

// Exactly one of these holds: it is bound (an address at launch), virtual, or by value.
struct CudnnTensor {
  std::vector<int64_t> sizes = {}, strides = {};  // strides in elements, one per size
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  int64_t binding = kFreeBinding;
  bool is_virtual = false;                       // never in memory
  std::optional<float> by_value = std::nullopt;  // a constant in host memory
};

// The parameters of one operation of the graph, named as cuDNN names them.
// One number per spatial dimension, height first; the paddings may differ before and behind.
struct CudnnConvolution {
  std::vector<int64_t> stride = {}, dilation = {}, pad_before = {}, pad_after = {};
};
// One, two or three inputs, as the mode wants; sizes of one repeat.
struct CudnnPointwise {
  cudnnPointwiseMode_t mode = CUDNN_POINTWISE_ADD;
  std::optional<double> upper_clip = std::nullopt;  // of CUDNN_POINTWISE_RELU_FWD
  int64_t axis = -1;                                // of CUDNN_POINTWISE_GEN_INDEX
};
// Inputs a[..., m, k] and b[..., k, n]; a transpose is a matter of strides.
struct CudnnMatmul {};
// Over the dimensions in which the result has size one.
struct CudnnReduction {
  cudnnReduceTensorOp_t mode = CUDNN_REDUCE_TENSOR_ADD;
};
// Pooling. Paddings must cover what the last window reads beyond the image.
struct CudnnResample {
  cudnnResampleMode_t mode = CUDNN_RESAMPLE_MAXPOOL;
  std::vector<int64_t> window = {}, stride = {}, pad_before = {}, pad_after = {};
};
struct CudnnLayerNorm {};  // inputs: x, scale, shift, epsilon
struct CudnnAttention {};  // inputs: q, k, v, scale; one fused operation

using CudnnParameters = std::variant<CudnnConvolution, CudnnPointwise, CudnnMatmul, CudnnReduction,
                                     CudnnResample, CudnnLayerNorm, CudnnAttention>;

// One operation; tensors by their index in the graph.
// Operations stand in an order in which each comes behind those whose results it reads.
struct CudnnOperation {
  CudnnParameters parameters;
  std::vector<size_t> inputs;
  size_t output = 0;
};

// A computation as cuDNN's backend takes it, as plain data: which operations in which order decides
// which engines cuDNN offers. Activations have type `storage`; what lies between operations is
// virtual and fp32, and so is all arithmetic. Not thread-safe while it is built.
// Only a known combination has engines: of two graphs that compute the same, one may have thirty
// and the other three or none, which is why the patterns are written out by hand. Adders take
// indices that earlier adders returned.
class CudnnGraph {
 public:
  explicit CudnnGraph(cudnnDataType_t storage) : storage_(storage) {}

  // A tensor that the caller binds. Each adder returns the tensor's index.
  // REQUIRES: `binding` is below kFreeBinding and is not in the graph yet.
  size_t AddBound(int64_t binding, std::vector<int64_t> sizes, std::vector<int64_t> strides);
  // A number that the operation reads from host memory.
  // Sizes and strides are all one, `rank` of them, so that it broadcasts.
  size_t AddConstant(float value, size_t rank);
  // An operation whose result has these sizes and strides and is virtual until it is an output.
  // fp32 between operations is what the fused kernels keep in registers; it costs no memory.
  size_t Add(CudnnParameters parameters, std::vector<size_t> inputs, std::vector<int64_t> sizes,
             std::vector<int64_t> strides);
  // A pointwise operation with the sizes and strides of its first input.
  size_t AddPointwise(CudnnPointwise pointwise, std::vector<size_t> inputs);
  // The activation of `input`; `input` itself for Activation::kNone.
  size_t AddActivation(Activation activation, size_t input);
  // What an operation computed is stored to Operands::outputs[0].
  // Gives it the storage type and binds it. Called once per graph, last.
  void SetOutput(size_t tensor);
  // Makes bound images in channels-last parts of others. Of those that are virtual none lies
  // anywhere.
  void SetPitches(const OperandPitches& pitches);
  // Makes a virtual tensor hold another type than fp32.
  // Needed where cuDNN insists: both factors of a product have one type, an index is an integer.
  void SetType(size_t tensor, cudnnDataType_t type) { tensors_[tensor].type = type; }

  const std::vector<CudnnTensor>& tensors() const { return tensors_; }
  const std::vector<CudnnOperation>& operations() const { return operations_; }

  // Whether an operation sums products, so that tensor cores could compute it.
  // Only for such graphs does it matter what an engine notes about tensor cores.
  bool HasProducts() const;

  // "conv add add relu": the operations' names in order, for messages and tests.
  std::string Pattern() const;

 private:
  cudnnDataType_t storage_;
  std::vector<CudnnTensor> tensors_;
  std::vector<CudnnOperation> operations_;
};

}  // namespace plait::cuda
