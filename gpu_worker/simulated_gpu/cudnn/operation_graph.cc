#include "gpu_worker/simulated_gpu/cudnn/operation_graph.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "gpu_worker/simulated_gpu/cudnn/check_operation.h"
#include "gpu_worker/simulated_gpu/cudnn/descriptor.h"

namespace plait::simulated_gpu {
namespace {

absl::Status Unsupported(const std::string& what) {
  return absl::UnimplementedError(absl::StrCat("there is no stand-in for ", what));
}

struct PatternName {
  const char* operator()(const ConvolutionOperation&) const { return "conv"; }
  const char* operator()(const PointwiseOperation& pointwise) const {
    switch (pointwise.mode) {
      case CUDNN_POINTWISE_ADD:
        return "add";
      case CUDNN_POINTWISE_MUL:
        return "mul";
      case CUDNN_POINTWISE_RELU_FWD:
        return "relu";
      default:
        return "pointwise";
    }
  }
  const char* operator()(const MatmulOperation&) const { return "matmul"; }
  const char* operator()(const ReductionOperation&) const { return "reduce"; }
  const char* operator()(const ResampleOperation&) const { return "resample"; }
  const char* operator()(const LayerNormOperation&) const { return "layernorm"; }
  const char* operator()(const AttentionOperation&) const { return "attention"; }
};

GraphTensor ReadTensorDescriptor(const Descriptor& tensor) {
  GraphTensor read;
  read.id = tensor.One<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID, 0);
  read.sizes = tensor.Sizes(CUDNN_ATTR_TENSOR_DIMENSIONS);
  read.strides = tensor.Sizes(CUDNN_ATTR_TENSOR_STRIDES);
  read.type = tensor.One(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_DATA_FLOAT);
  read.alignment_bytes = tensor.One<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 1);
  read.is_virtual = tensor.One(CUDNN_ATTR_TENSOR_IS_VIRTUAL, false);
  read.is_by_value = tensor.One(CUDNN_ATTR_TENSOR_IS_BY_VALUE, false);
  return read;
}

// Reads operations into a graph, in which each tensor is once.
class GraphReader {
 public:
  absl::Status Add(const Descriptor& operation) {
    operation_ = &operation;
    inputs_.clear();
    PLAIT_ASSIGN_OR_RETURN(OperationParameters parameters, Parameters());
    graph_.operations.push_back({std::move(parameters), inputs_, output_});
    return CheckOperation(graph_, graph_.operations.back());
  }
  OperationGraph Take() { return std::move(graph_); }

 private:
  absl::StatusOr<size_t> Tensor(cudnnBackendAttributeName_t name) {
    const GraphTensor tensor = ReadTensorDescriptor(*operation_->Part(name));
    const auto [known, is_new] = places_.try_emplace(tensor.id, graph_.tensors.size());
    if (is_new) {
      graph_.tensors.push_back(tensor);
      return known->second;
    }
    const GraphTensor& other = graph_.tensors[known->second];
    if (other.sizes != tensor.sizes || other.strides != tensor.strides ||
        other.type != tensor.type || other.is_virtual != tensor.is_virtual) {
      return absl::InvalidArgumentError(absl::StrCat("two tensors of the id ", tensor.id));
    }
    return known->second;
  }

  absl::Status Tensors(const std::vector<cudnnBackendAttributeName_t>& inputs,
                       cudnnBackendAttributeName_t output) {
    for (const cudnnBackendAttributeName_t name : inputs) {
      if (!operation_->Has(name)) continue;
      PLAIT_ASSIGN_OR_RETURN(const size_t place, Tensor(name));
      inputs_.push_back(place);
    }
    PLAIT_ASSIGN_OR_RETURN(output_, Tensor(output));
    return absl::OkStatus();
  }

  absl::StatusOr<OperationParameters> Parameters() {
    switch (operation_->type) {
      case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
        return Convolution();
      case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
        return Pointwise();
      case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
        PLAIT_RETURN_IF_ERROR(
            Tensors({CUDNN_ATTR_OPERATION_MATMUL_ADESC, CUDNN_ATTR_OPERATION_MATMUL_BDESC},
                    CUDNN_ATTR_OPERATION_MATMUL_CDESC));
        return MatmulOperation();
      case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
        PLAIT_RETURN_IF_ERROR(
            Tensors({CUDNN_ATTR_OPERATION_REDUCTION_XDESC}, CUDNN_ATTR_OPERATION_REDUCTION_YDESC));
        return ReductionOperation{
            operation_->Part(CUDNN_ATTR_OPERATION_REDUCTION_DESC)
                ->One(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_REDUCE_TENSOR_ADD)};
      case CUDNN_BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR:
        return Resample();
      case CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR:
        return Norm();
      case CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR:
        PLAIT_RETURN_IF_ERROR(
            Tensors({CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC, CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC,
                     CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC, CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC},
                    CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC));
        return AttentionOperation();
      default:
        return Unsupported(absl::StrCat("the operation ", operation_->type));
    }
  }

  absl::StatusOr<OperationParameters> Convolution() {
    PLAIT_RETURN_IF_ERROR(Tensors(
        {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W},
        CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y));
    const float alpha = operation_->One(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, 1.0F);
    const float beta = operation_->One(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, 0.0F);
    if (alpha != 1 || beta != 0) return Unsupported("a convolution that is scaled or added");
    const Descriptor& conv = *operation_->Part(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC);
    if (conv.One(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_CROSS_CORRELATION) !=
        CUDNN_CROSS_CORRELATION) {
      return Unsupported("a window that is flipped");
    }
    return ConvolutionOperation{conv.Sizes(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES),
                                conv.Sizes(CUDNN_ATTR_CONVOLUTION_DILATIONS),
                                conv.Sizes(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS),
                                conv.Sizes(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS)};
  }

  absl::StatusOr<OperationParameters> Pointwise() {
    PLAIT_RETURN_IF_ERROR(
        Tensors({CUDNN_ATTR_OPERATION_POINTWISE_XDESC, CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
                 CUDNN_ATTR_OPERATION_POINTWISE_TDESC},
                CUDNN_ATTR_OPERATION_POINTWISE_YDESC));
    const Descriptor& parameters = *operation_->Part(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
    PointwiseOperation pointwise;
    pointwise.mode = parameters.One(CUDNN_ATTR_POINTWISE_MODE, CUDNN_POINTWISE_ADD);
    pointwise.upper_clip =
        parameters.One(CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, pointwise.upper_clip);
    pointwise.axis = parameters.One<int64_t>(CUDNN_ATTR_POINTWISE_AXIS, -1);
    return pointwise;
  }

  absl::StatusOr<OperationParameters> Resample() {
    PLAIT_RETURN_IF_ERROR(Tensors({CUDNN_ATTR_OPERATION_RESAMPLE_FWD_XDESC},
                                  CUDNN_ATTR_OPERATION_RESAMPLE_FWD_YDESC));
    const Descriptor& parameters = *operation_->Part(CUDNN_ATTR_OPERATION_RESAMPLE_FWD_DESC);
    const auto mode = parameters.One(CUDNN_ATTR_RESAMPLE_MODE, CUDNN_RESAMPLE_MAXPOOL);
    const auto padding = parameters.One(CUDNN_ATTR_RESAMPLE_PADDING_MODE, CUDNN_ZERO_PAD);
    const bool is_max = mode == CUDNN_RESAMPLE_MAXPOOL;
    // Zeros beside negative numbers would be the largest.
    if (padding != (is_max ? CUDNN_NEG_INF_PAD : CUDNN_ZERO_PAD)) {
      return Unsupported("a padding that is no part of the pooling");
    }
    return ResampleOperation{mode, parameters.Sizes(CUDNN_ATTR_RESAMPLE_WINDOW_DIMS),
                             parameters.Sizes(CUDNN_ATTR_RESAMPLE_STRIDES),
                             parameters.Sizes(CUDNN_ATTR_RESAMPLE_PRE_PADDINGS),
                             parameters.Sizes(CUDNN_ATTR_RESAMPLE_POST_PADDINGS)};
  }

  absl::StatusOr<OperationParameters> Norm() {
    PLAIT_RETURN_IF_ERROR(Tensors(
        {CUDNN_ATTR_OPERATION_NORM_FWD_XDESC, CUDNN_ATTR_OPERATION_NORM_FWD_SCALE_DESC,
         CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC, CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC},
        CUDNN_ATTR_OPERATION_NORM_FWD_YDESC));
    if (operation_->One(CUDNN_ATTR_OPERATION_NORM_FWD_MODE, CUDNN_LAYER_NORM) != CUDNN_LAYER_NORM ||
        operation_->One(CUDNN_ATTR_OPERATION_NORM_FWD_PHASE, CUDNN_NORM_FWD_INFERENCE) !=
            CUDNN_NORM_FWD_INFERENCE) {
      return Unsupported("a norm that is no layer norm, or is trained");
    }
    return LayerNormOperation();
  }

  OperationGraph graph_;
  std::map<int64_t, size_t> places_;  // by id
  const Descriptor* operation_ = nullptr;
  std::vector<size_t> inputs_;
  size_t output_ = 0;
};

// Results are written once, and those that are virtual before they are read.
absl::Status CheckOrder(const OperationGraph& graph) {
  std::set<size_t> results;
  for (const GraphOperation& operation : graph.operations) results.insert(operation.output);
  std::set<size_t> written;
  for (const GraphOperation& operation : graph.operations) {
    for (const size_t input : operation.inputs) {
      const bool is_there = graph.tensors[input].is_virtual || results.count(input) != 0
                                ? written.count(input) != 0
                                : true;
      if (!is_there) {
        return absl::InvalidArgumentError(
            absl::StrCat("the tensor ", graph.tensors[input].id, " is read before it is written"));
      }
    }
    if (!written.insert(operation.output).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("the tensor ", graph.tensors[operation.output].id, " is written twice"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::string OperationGraph::Pattern() const {
  std::string pattern;
  for (const GraphOperation& operation : operations) {
    absl::StrAppend(&pattern, pattern.empty() ? "" : "_",
                    std::visit(PatternName(), operation.parameters));
  }
  return pattern;
}

absl::StatusOr<OperationGraph> ReadOperation(const Descriptor& operation) {
  GraphReader reader;
  PLAIT_RETURN_IF_ERROR(reader.Add(operation));
  return reader.Take();
}

absl::StatusOr<OperationGraph> ReadOperationGraph(const Descriptor& graph) {
  GraphReader reader;
  for (const auto& operation : graph.values.at(CUDNN_ATTR_OPERATIONGRAPH_OPS).parts) {
    PLAIT_RETURN_IF_ERROR(reader.Add(*operation));
  }
  OperationGraph read = reader.Take();
  PLAIT_RETURN_IF_ERROR(CheckOrder(read));
  return read;
}

}  // namespace plait::simulated_gpu
