#include "gpu_worker/backends/cuda/cudnn/lower.h"

#include <algorithm>
#include <utility>

namespace plait::cuda {
namespace {

// 16: what vectorised loads want.
constexpr int64_t kTensorAlignmentBytesMax = 16;

// The number of spatial dimensions of a 2-d convolution or pooling.
constexpr int64_t kSpatialDimensions = 2;

Result<CudnnDescriptor> LowerTensor(const CudnnLibrary& library, const CudnnTensor& tensor,
                                    const OperandAlignment& alignment) {
  CudnnDescriptor lowered(library, CUDNN_BACKEND_TENSOR_DESCRIPTOR,
                          "tensor " + std::to_string(tensor.binding));
  lowered.Set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, tensor.type);
  lowered.SetSizes(CUDNN_ATTR_TENSOR_DIMENSIONS, tensor.sizes);
  lowered.SetSizes(CUDNN_ATTR_TENSOR_STRIDES, tensor.strides);
  lowered.Set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, tensor.binding);
  lowered.Set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64,
              CudnnAlignmentBytes(tensor, alignment));
  // Set only where true: false is the default of both.
  if (tensor.is_virtual) lowered.Set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, true);
  if (tensor.by_value) lowered.Set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, true);
  PLAIT_CUDA_RETURN_IF_ERROR(lowered.Finalize());
  return lowered;
}

// Lowers the operations of one graph; the tensors' descriptors come first in `parts`.
class OperationLowering {
 public:
  OperationLowering(const CudnnLibrary& library, const CudnnOperation& operation,
                    std::vector<CudnnDescriptor>* parts)
      : library_(library), operation_(operation), parts_(parts) {}

  // Appends the parameters' descriptor, if any, and returns the operation's.
  Result<CudnnDescriptor> Lower() {
    CudnnDescriptor lowered = std::visit(*this, operation_.parameters);
    PLAIT_CUDA_RETURN_IF_ERROR(lowered.Finalize());
    return lowered;
  }

  CudnnDescriptor operator()(const CudnnConvolution& conv) {
    CudnnDescriptor parameters(library_, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, "convolution");
    parameters.Set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    // ONNX calls cross-correlation a convolution: the window is not flipped.
    parameters.Set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE,
                   CUDNN_CROSS_CORRELATION);
    parameters.Set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, kSpatialDimensions);
    parameters.SetSizes(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, conv.stride);
    parameters.SetSizes(CUDNN_ATTR_CONVOLUTION_DILATIONS, conv.dilation);
    parameters.SetSizes(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, conv.pad_before);
    parameters.SetSizes(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, conv.pad_after);
    CudnnDescriptor lowered =
        Operation(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, "convolution operation");
    Attach(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, std::move(parameters), &lowered);
    lowered.SetDescriptor(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, Input(0));
    lowered.SetDescriptor(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, Input(1));
    lowered.SetDescriptor(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, Output());
    // y = 1 conv(x, w) + 0 y: a residual is an operation of its own.
    lowered.Set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, 1.0F);
    lowered.Set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT, 0.0F);
    return lowered;
  }

  CudnnDescriptor operator()(const CudnnPointwise& pointwise) {
    CudnnDescriptor parameters(library_, CUDNN_BACKEND_POINTWISE_DESCRIPTOR, "pointwise");
    parameters.Set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, pointwise.mode);
    parameters.Set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    if (pointwise.upper_clip) {
      parameters.Set(CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, CUDNN_TYPE_DOUBLE,
                     *pointwise.upper_clip);
    }
    if (pointwise.axis >= 0) {
      parameters.Set(CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, pointwise.axis);
    }
    CudnnDescriptor lowered =
        Operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, "pointwise operation");
    Attach(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, std::move(parameters), &lowered);
    lowered.SetDescriptor(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, Input(0));
    if (operation_.inputs.size() > 1) {
      lowered.SetDescriptor(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, Input(1));
    }
    if (operation_.inputs.size() > 2) {
      lowered.SetDescriptor(CUDNN_ATTR_OPERATION_POINTWISE_TDESC, Input(2));
    }
    lowered.SetDescriptor(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, Output());
    return lowered;
  }

  CudnnDescriptor operator()(const CudnnMatmul&) {
    CudnnDescriptor parameters(library_, CUDNN_BACKEND_MATMUL_DESCRIPTOR, "matmul");
    parameters.Set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    CudnnDescriptor lowered =
        Operation(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, "matmul operation");
    Attach(CUDNN_ATTR_OPERATION_MATMUL_DESC, std::move(parameters), &lowered);
    lowered.SetDescriptor(CUDNN_ATTR_OPERATION_MATMUL_ADESC, Input(0));
    lowered.SetDescriptor(CUDNN_ATTR_OPERATION_MATMUL_BDESC, Input(1));
    lowered.SetDescriptor(CUDNN_ATTR_OPERATION_MATMUL_CDESC, Output());
    return lowered;
  }

  CudnnDescriptor operator()(const CudnnReduction& reduction) {
    CudnnDescriptor parameters(library_, CUDNN_BACKEND_REDUCTION_DESCRIPTOR, "reduction");
    parameters.Set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    parameters.Set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE,
                   reduction.mode);
    CudnnDescriptor lowered =
        Operation(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR, "reduction operation");
    Attach(CUDNN_ATTR_OPERATION_REDUCTION_DESC, std::move(parameters), &lowered);
    lowered.SetDescriptor(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, Input(0));
    lowered.SetDescriptor(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, Output());
    return lowered;
  }

  CudnnDescriptor operator()(const CudnnResample& resample) {
    const bool is_max = resample.mode == CUDNN_RESAMPLE_MAXPOOL;
    CudnnDescriptor parameters(library_, CUDNN_BACKEND_RESAMPLE_DESCRIPTOR, "resample");
    parameters.Set(CUDNN_ATTR_RESAMPLE_MODE, CUDNN_TYPE_RESAMPLE_MODE, resample.mode);
    parameters.Set(CUDNN_ATTR_RESAMPLE_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    // Padding must never be the largest; for an average it adds nothing to the sum.
    parameters.Set(CUDNN_ATTR_RESAMPLE_PADDING_MODE, CUDNN_TYPE_PADDING_MODE,
                   is_max ? CUDNN_NEG_INF_PAD : CUDNN_ZERO_PAD);
    parameters.Set(CUDNN_ATTR_RESAMPLE_SPATIAL_DIMS, CUDNN_TYPE_INT64, kSpatialDimensions);
    parameters.SetSizes(CUDNN_ATTR_RESAMPLE_WINDOW_DIMS, resample.window);
    parameters.SetSizes(CUDNN_ATTR_RESAMPLE_STRIDES, resample.stride);
    parameters.SetSizes(CUDNN_ATTR_RESAMPLE_PRE_PADDINGS, resample.pad_before);
    parameters.SetSizes(CUDNN_ATTR_RESAMPLE_POST_PADDINGS, resample.pad_after);
    CudnnDescriptor lowered =
        Operation(CUDNN_BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR, "resample operation");
    Attach(CUDNN_ATTR_OPERATION_RESAMPLE_FWD_DESC, std::move(parameters), &lowered);
    lowered.SetDescriptor(CUDNN_ATTR_OPERATION_RESAMPLE_FWD_XDESC, Input(0));
    lowered.SetDescriptor(CUDNN_ATTR_OPERATION_RESAMPLE_FWD_YDESC, Output());
    return lowered;
  }

  CudnnDescriptor operator()(const CudnnLayerNorm&) {
    CudnnDescriptor lowered =
        Operation(CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR, "layer norm operation");
    // Inference: mean and variance are computed over each row and not written.
    lowered.Set(CUDNN_ATTR_OPERATION_NORM_FWD_MODE, CUDNN_TYPE_NORM_MODE, CUDNN_LAYER_NORM);
    lowered.Set(CUDNN_ATTR_OPERATION_NORM_FWD_PHASE, CUDNN_TYPE_NORM_FWD_PHASE,
                CUDNN_NORM_FWD_INFERENCE);
    lowered.SetDescriptor(CUDNN_ATTR_OPERATION_NORM_FWD_XDESC, Input(0));
    lowered.SetDescriptor(CUDNN_ATTR_OPERATION_NORM_FWD_SCALE_DESC, Input(1));
    lowered.SetDescriptor(CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC, Input(2));
    lowered.SetDescriptor(CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC, Input(3));
    lowered.SetDescriptor(CUDNN_ATTR_OPERATION_NORM_FWD_YDESC, Output());
    return lowered;
  }

  CudnnDescriptor operator()(const CudnnAttention&) {
    CudnnDescriptor lowered =
        Operation(CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR, "attention operation");
    // The fused operation. Its optional inputs, as masks, are not used: with a mask the pattern is
    // written out in single operations.
    lowered.SetDescriptor(CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC, Input(0));
    lowered.SetDescriptor(CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC, Input(1));
    lowered.SetDescriptor(CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC, Input(2));
    lowered.SetDescriptor(CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC, Input(3));
    lowered.SetDescriptor(CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC, Output());
    return lowered;
  }

 private:
  CudnnDescriptor Operation(cudnnBackendDescriptorType_t type, const char* what) const {
    return CudnnDescriptor(library_, type, what);
  }

  // Finalizes `parameters`, hands them to the graph, and refers to them from `lowered`.
  void Attach(cudnnBackendAttributeName_t name, CudnnDescriptor parameters,
              CudnnDescriptor* lowered) {
    // An error sticks to `parameters` and from there to `lowered`.
    (void)parameters.Finalize();
    lowered->SetDescriptor(name, parameters);
    parts_->push_back(std::move(parameters));
  }

  const CudnnDescriptor& Input(size_t index) const { return (*parts_)[operation_.inputs[index]]; }
  const CudnnDescriptor& Output() const { return (*parts_)[operation_.output]; }

  const CudnnLibrary& library_;
  const CudnnOperation& operation_;
  std::vector<CudnnDescriptor>* parts_;
};

}  // namespace

int64_t CudnnAlignmentBytes(const CudnnTensor& tensor, const OperandAlignment& alignment) {
  if (tensor.is_virtual || tensor.by_value) return kTensorAlignmentBytesMax;
  int64_t bytes = alignment.inputs;
  if (tensor.binding == kWeightsBinding) bytes = alignment.weights;
  if (tensor.binding == kBiasBinding) bytes = alignment.bias;
  if (tensor.binding == kResidualBinding) bytes = alignment.residual;
  if (tensor.binding == kOutputBinding) bytes = alignment.outputs;
  return std::min(bytes, kTensorAlignmentBytesMax);
}

Result<CudnnOperationGraph> LowerCudnnGraph(const CudnnLibrary& library, const CudnnGraph& graph,
                                            const OperandAlignment& alignment,
                                            cudnnHandle_t handle) {
  // Tensors come first and in order, so that an operation finds them by their index.
  std::vector<CudnnDescriptor> parts;
  for (const CudnnTensor& tensor : graph.tensors()) {
    Result<CudnnDescriptor> lowered = LowerTensor(library, tensor, alignment);
    if (!lowered.ok()) return lowered.error();
    parts.push_back(std::move(lowered).value());
  }
  std::vector<CudnnDescriptor> operations;
  for (const CudnnOperation& operation : graph.operations()) {
    Result<CudnnDescriptor> lowered = OperationLowering(library, operation, &parts).Lower();
    if (!lowered.ok()) return lowered.error();
    operations.push_back(std::move(lowered).value());
  }
  std::vector<cudnnBackendDescriptor_t> pointers;
  for (const CudnnDescriptor& operation : operations) pointers.push_back(operation.get());
  CudnnDescriptor lowered(library, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR,
                          "operation graph " + graph.Pattern());
  lowered.Set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
              static_cast<int64_t>(pointers.size()), pointers.data());
  // A graph with a handle is for that handle's device; one without takes the device at the
  // heuristic.
  if (handle != nullptr) {
    lowered.Set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle);
  }
  PLAIT_CUDA_RETURN_IF_ERROR(lowered.Finalize());
  // cuDNN promises no copy of the operations, so they live as long as the graph.
  for (CudnnDescriptor& operation : operations) parts.push_back(std::move(operation));
  return CudnnOperationGraph{std::move(parts), std::move(lowered)};
}

}  // namespace plait::cuda
