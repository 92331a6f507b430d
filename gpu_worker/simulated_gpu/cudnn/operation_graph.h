#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include <cudnn.h>

#include "absl/status/statusor.h"

namespace plait::simulated_gpu {

struct Descriptor;

// An operation graph as its descriptors say it, read anew: nothing of the code that wrote them is
// used.

struct GraphTensor {
  int64_t id = 0;
  std::vector<int64_t> sizes, strides;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  int64_t alignment_bytes = 1;
  bool is_virtual = false;
  bool is_by_value = false;
};

// The words are cuDNN's. Arrays have one number for each spatial dimension.
struct ConvolutionOperation {
  std::vector<int64_t> stride, dilation, pad_before, pad_after;
};
struct PointwiseOperation {
  cudnnPointwiseMode_t mode = CUDNN_POINTWISE_ADD;
  double upper_clip = std::numeric_limits<double>::infinity();
  int64_t axis = -1;
};
struct MatmulOperation {};
struct ReductionOperation {
  cudnnReduceTensorOp_t mode = CUDNN_REDUCE_TENSOR_ADD;
};
struct ResampleOperation {
  cudnnResampleMode_t mode = CUDNN_RESAMPLE_MAXPOOL;
  std::vector<int64_t> window, stride, pad_before, pad_after;
};
struct LayerNormOperation {};  // x, scale, bias, epsilon
struct AttentionOperation {};  // q, k, v, scale

using OperationParameters =
    std::variant<ConvolutionOperation, PointwiseOperation, MatmulOperation, ReductionOperation,
                 ResampleOperation, LayerNormOperation, AttentionOperation>;

// Tensors by their place in the graph.
struct GraphOperation {
  OperationParameters parameters;
  std::vector<size_t> inputs;
  size_t output = 0;
};

struct OperationGraph {
  std::vector<GraphTensor> tensors;
  std::vector<GraphOperation> operations;  // each behind those whose results it reads

  // "conv_add_relu".
  std::string Pattern() const;
};

// The graph of one operation. Errors: kInvalidArgument for sizes that do not fit together;
// kUnimplemented for what there is no stand-in for.
absl::StatusOr<OperationGraph> ReadOperation(const Descriptor& operation);

// Errors: as ReadOperation(); kInvalidArgument also for two tensors of one id that differ, and for
// what is written twice or read before it is written.
absl::StatusOr<OperationGraph> ReadOperationGraph(const Descriptor& graph);

}  // namespace plait::simulated_gpu
