#include "gpu_worker/simulated_gpu/cudnn/check_operation.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "gpu_worker/simulated_gpu/tensor_memory.h"

namespace plait::simulated_gpu {
namespace {

using Sizes = std::vector<int64_t>;

absl::Status Wrong(const char* what) { return absl::InvalidArgumentError(what); }

bool Broadcasts(const Sizes& from, const Sizes& to) {
  if (from.size() != to.size()) return false;
  for (size_t i = 0; i < from.size(); ++i) {
    if (from[i] != to[i] && from[i] != 1) return false;
  }
  return true;
}

class Checker {
 public:
  Checker(const OperationGraph& graph, const GraphOperation& operation)
      : graph_(graph), operation_(operation), y_(Of(operation.output)) {}

  absl::Status operator()(const ConvolutionOperation& conv) const {
    const Sizes &x = Input(0), &w = Input(1);
    if (x.size() != 4 || w.size() != 4 || y_.size() != 4 || conv.stride.size() != 2) {
      return absl::UnimplementedError("there is no stand-in but for convolutions of images");
    }
    if (w[1] == 0 || x[1] % w[1] != 0 || w[0] % (x[1] / w[1]) != 0) {
      return Wrong("the window's channels do not divide the input's");
    }
    if (y_[0] != x[0] || y_[1] != w[0]) return Wrong("y has another batch or other channels");
    for (size_t i = 0; i < 2; ++i) {
      const int64_t reach = conv.dilation[i] * (w[2 + i] - 1) + 1;
      const int64_t room = x[2 + i] + conv.pad_before[i] + conv.pad_after[i] - reach;
      if (room < 0 || y_[2 + i] != room / conv.stride[i] + 1) return Wrong("y has another size");
    }
    return absl::OkStatus();
  }

  absl::Status operator()(const PointwiseOperation& pointwise) const {
    const int operands = PointwiseOperands(pointwise.mode);
    if (operands == 0) {
      return absl::UnimplementedError(
          absl::StrCat("there is no stand-in for the pointwise mode ", pointwise.mode));
    }
    if (operation_.inputs.size() != static_cast<size_t>(operands)) {
      return Wrong("a pointwise operation of too few or too many operands");
    }
    for (size_t i = 0; i < operation_.inputs.size(); ++i) {
      if (!Broadcasts(Input(i), y_)) return Wrong("an operand does not broadcast to the result");
    }
    const bool needs_axis = pointwise.mode == CUDNN_POINTWISE_GEN_INDEX;
    if (needs_axis && (pointwise.axis < 0 || pointwise.axis >= static_cast<int64_t>(y_.size()))) {
      return Wrong("an index along no axis");
    }
    return absl::OkStatus();
  }

  absl::Status operator()(const MatmulOperation&) const {
    const Sizes &a = Input(0), &b = Input(1);
    const size_t rank = y_.size();
    if (rank < 2 || a.size() != rank || b.size() != rank) return Wrong("factors of other ranks");
    if (a[rank - 1] != b[rank - 2]) return Wrong("factors of other depths");
    if (y_[rank - 2] != a[rank - 2] || y_[rank - 1] != b[rank - 1]) {
      return Wrong("a product of another size");
    }
    for (size_t i = 0; i + 2 < rank; ++i) {
      if ((a[i] != y_[i] && a[i] != 1) || (b[i] != y_[i] && b[i] != 1)) {
        return Wrong("factors of other batches");
      }
    }
    return absl::OkStatus();
  }

  absl::Status operator()(const ReductionOperation& reduction) const {
    if (reduction.mode != CUDNN_REDUCE_TENSOR_ADD && reduction.mode != CUDNN_REDUCE_TENSOR_MAX) {
      return absl::UnimplementedError("there is no stand-in but for sums and maxima");
    }
    return Broadcasts(y_, Input(0)) ? absl::OkStatus() : Wrong("a reduction to another size");
  }

  absl::Status operator()(const ResampleOperation& resample) const {
    const Sizes& x = Input(0);
    if (x.size() != 4 || y_.size() != 4 || resample.window.size() != 2) {
      return absl::UnimplementedError("there is no stand-in but for pooling of images");
    }
    if (resample.mode != CUDNN_RESAMPLE_MAXPOOL &&
        resample.mode != CUDNN_RESAMPLE_AVGPOOL_EXCLUDE_PADDING &&
        resample.mode != CUDNN_RESAMPLE_AVGPOOL_INCLUDE_PADDING) {
      return absl::UnimplementedError("there is no stand-in but for pooling");
    }
    if (x[0] != y_[0] || x[1] != y_[1]) return Wrong("y has another batch or other channels");
    for (size_t i = 0; i < 2; ++i) {
      const int64_t room =
          x[2 + i] + resample.pad_before[i] + resample.pad_after[i] - resample.window[i];
      if (room < 0 || y_[2 + i] != room / resample.stride[i] + 1) {
        return Wrong("y has another size");
      }
    }
    return absl::OkStatus();
  }

  absl::Status operator()(const LayerNormOperation&) const {
    if (operation_.inputs.size() != 4 || Input(0) != y_) return Wrong("y has another size");
    if (ElementsOf(Input(3)) != 1) return Wrong("a layer norm of more than one epsilon");
    Sizes row = y_;
    row[0] = 1;
    return Input(1) == row && Input(2) == row
               ? absl::OkStatus()
               : Wrong("scale and shift have no number for each column");
  }

  absl::Status operator()(const AttentionOperation&) const {
    const Sizes &q = Input(0), &k = Input(1), &v = Input(2);
    if (q.size() != 4 || k.size() != 4 || v.size() != 4 || y_.size() != 4) {
      return Wrong("an attention of another rank");
    }
    if (operation_.inputs.size() != 4 || ElementsOf(Input(3)) != 1) {
      return Wrong("an attention without one scale");
    }
    const bool fits = q[0] == k[0] && k[0] == v[0] && q[1] == k[1] && k[1] == v[1] &&
                      q[3] == k[3] && k[2] == v[2] && y_ == Sizes({q[0], q[1], q[2], v[3]});
    return fits ? absl::OkStatus() : Wrong("an attention of sizes that do not fit");
  }

 private:
  const Sizes& Of(size_t tensor) const { return graph_.tensors[tensor].sizes; }
  const Sizes& Input(size_t i) const { return Of(operation_.inputs[i]); }

  const OperationGraph& graph_;
  const GraphOperation& operation_;
  const Sizes& y_;
};

}  // namespace

absl::Status CheckOperation(const OperationGraph& graph, const GraphOperation& operation) {
  if (graph.tensors[operation.output].is_by_value) return Wrong("a result by value");
  for (const size_t input : operation.inputs) {
    const GraphTensor& tensor = graph.tensors[input];
    if (tensor.is_by_value && ElementsOf(tensor.sizes) != 1) {
      return Wrong("more than one number by value");
    }
  }
  return std::visit(Checker(graph, operation), operation.parameters);
}

int PointwiseOperands(cudnnPointwiseMode_t mode) {
  switch (mode) {
    case CUDNN_POINTWISE_RELU_FWD:
    case CUDNN_POINTWISE_GELU_FWD:
    case CUDNN_POINTWISE_GELU_APPROX_TANH_FWD:
    case CUDNN_POINTWISE_SWISH_FWD:
    case CUDNN_POINTWISE_SIGMOID_FWD:
    case CUDNN_POINTWISE_TANH_FWD:
    case CUDNN_POINTWISE_EXP:
    case CUDNN_POINTWISE_LOG:
    case CUDNN_POINTWISE_GEN_INDEX:
      return 1;
    case CUDNN_POINTWISE_ADD:
    case CUDNN_POINTWISE_SUB:
    case CUDNN_POINTWISE_MUL:
    case CUDNN_POINTWISE_DIV:
    case CUDNN_POINTWISE_CMP_GE:
      return 2;
    case CUDNN_POINTWISE_BINARY_SELECT:
      return 3;
    default:
      return 0;
  }
}

}  // namespace plait::simulated_gpu
