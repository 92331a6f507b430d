#include "gpu_worker/simulated_gpu/cudnn/attributes.h"

#include <algorithm>
#include <cstdint>

namespace plait::simulated_gpu {
namespace {

constexpr int kDimensionsMax = 8;  // CUDNN_DIM_MAX
constexpr int kMany = 1 << 16;
constexpr bool kRequired = true;
constexpr auto kTensor = static_cast<int>(CUDNN_BACKEND_TENSOR_DESCRIPTOR);

constexpr AttributeRule Number(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                               bool is_required = kRequired) {
  return {name, type, 1, is_required};
}
constexpr AttributeRule SizesRule(cudnnBackendAttributeName_t name,
                                  int count_max = kDimensionsMax) {
  return {name, CUDNN_TYPE_INT64, count_max, kRequired};
}
constexpr AttributeRule PartRule(cudnnBackendAttributeName_t name, int part = kTensor,
                                 bool is_required = kRequired) {
  return {name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, is_required, part};
}

constexpr AttributeRule kTensorRules[] = {
    Number(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE),
    SizesRule(CUDNN_ATTR_TENSOR_DIMENSIONS),
    SizesRule(CUDNN_ATTR_TENSOR_STRIDES),
    Number(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64),
    Number(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64),
    Number(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, false),
    Number(CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, false)};
constexpr AttributeRule kConvolutionRules[] = {
    Number(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE),
    Number(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE),
    Number(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64),
    SizesRule(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES),
    SizesRule(CUDNN_ATTR_CONVOLUTION_DILATIONS),
    SizesRule(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS),
    SizesRule(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS)};
constexpr AttributeRule kConvolutionOperationRules[] = {
    PartRule(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
             CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR),
    PartRule(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X),
    PartRule(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W),
    PartRule(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y),
    Number(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT),
    Number(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT)};
constexpr AttributeRule kPointwiseRules[] = {
    Number(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE),
    Number(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE),
    Number(CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, CUDNN_TYPE_DOUBLE, false),
    Number(CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, false)};
constexpr AttributeRule kPointwiseOperationRules[] = {
    PartRule(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, CUDNN_BACKEND_POINTWISE_DESCRIPTOR),
    PartRule(CUDNN_ATTR_OPERATION_POINTWISE_XDESC),
    PartRule(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, kTensor, false),
    PartRule(CUDNN_ATTR_OPERATION_POINTWISE_TDESC, kTensor, false),
    PartRule(CUDNN_ATTR_OPERATION_POINTWISE_YDESC)};
constexpr AttributeRule kMatmulRules[] = {
    Number(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE)};
constexpr AttributeRule kMatmulOperationRules[] = {
    PartRule(CUDNN_ATTR_OPERATION_MATMUL_DESC, CUDNN_BACKEND_MATMUL_DESCRIPTOR),
    PartRule(CUDNN_ATTR_OPERATION_MATMUL_ADESC), PartRule(CUDNN_ATTR_OPERATION_MATMUL_BDESC),
    PartRule(CUDNN_ATTR_OPERATION_MATMUL_CDESC)};
constexpr AttributeRule kReductionRules[] = {
    Number(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE),
    Number(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE)};
constexpr AttributeRule kReductionOperationRules[] = {
    PartRule(CUDNN_ATTR_OPERATION_REDUCTION_DESC, CUDNN_BACKEND_REDUCTION_DESCRIPTOR),
    PartRule(CUDNN_ATTR_OPERATION_REDUCTION_XDESC), PartRule(CUDNN_ATTR_OPERATION_REDUCTION_YDESC)};
constexpr AttributeRule kResampleRules[] = {
    Number(CUDNN_ATTR_RESAMPLE_MODE, CUDNN_TYPE_RESAMPLE_MODE),
    Number(CUDNN_ATTR_RESAMPLE_COMP_TYPE, CUDNN_TYPE_DATA_TYPE),
    Number(CUDNN_ATTR_RESAMPLE_PADDING_MODE, CUDNN_TYPE_PADDING_MODE),
    Number(CUDNN_ATTR_RESAMPLE_SPATIAL_DIMS, CUDNN_TYPE_INT64),
    SizesRule(CUDNN_ATTR_RESAMPLE_WINDOW_DIMS),
    SizesRule(CUDNN_ATTR_RESAMPLE_STRIDES),
    SizesRule(CUDNN_ATTR_RESAMPLE_PRE_PADDINGS),
    SizesRule(CUDNN_ATTR_RESAMPLE_POST_PADDINGS)};
constexpr AttributeRule kResampleOperationRules[] = {
    PartRule(CUDNN_ATTR_OPERATION_RESAMPLE_FWD_DESC, CUDNN_BACKEND_RESAMPLE_DESCRIPTOR),
    PartRule(CUDNN_ATTR_OPERATION_RESAMPLE_FWD_XDESC),
    PartRule(CUDNN_ATTR_OPERATION_RESAMPLE_FWD_YDESC)};
constexpr AttributeRule kNormRules[] = {
    Number(CUDNN_ATTR_OPERATION_NORM_FWD_MODE, CUDNN_TYPE_NORM_MODE),
    Number(CUDNN_ATTR_OPERATION_NORM_FWD_PHASE, CUDNN_TYPE_NORM_FWD_PHASE),
    PartRule(CUDNN_ATTR_OPERATION_NORM_FWD_XDESC),
    PartRule(CUDNN_ATTR_OPERATION_NORM_FWD_SCALE_DESC),
    PartRule(CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC),
    PartRule(CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC),
    PartRule(CUDNN_ATTR_OPERATION_NORM_FWD_YDESC)};
constexpr AttributeRule kAttentionRules[] = {PartRule(CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC),
                                             PartRule(CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC),
                                             PartRule(CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC),
                                             PartRule(CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC),
                                             PartRule(CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC)};
constexpr AttributeRule kGraphRules[] = {
    {CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, kMany, kRequired,
     AttributeRule::kAnyOperation},
    Number(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, false)};
constexpr AttributeRule kHeuristicRules[] = {
    PartRule(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR),
    Number(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE),
    PartRule(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, false)};
constexpr AttributeRule kConfigurationRules[] = {
    PartRule(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR)};
constexpr AttributeRule kPlanRules[] = {
    PartRule(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR),
    Number(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, false),
    PartRule(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, false)};
constexpr AttributeRule kPackRules[] = {
    SizesRule(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, kMany),
    {CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, kMany, kRequired},
    Number(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, false)};
constexpr AttributeRule kDeviceRules[] = {
    Number(CUDNN_ATTR_DEVICEPROP_DEVICE_ID, CUDNN_TYPE_INT32, false),
    {CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, kMany}};

}  // namespace

absl::Span<const AttributeRule> RulesOf(cudnnBackendDescriptorType_t type) {
  switch (type) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
      return kTensorRules;
    case CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR:
      return kConvolutionRules;
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
      return kConvolutionOperationRules;
    case CUDNN_BACKEND_POINTWISE_DESCRIPTOR:
      return kPointwiseRules;
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
      return kPointwiseOperationRules;
    case CUDNN_BACKEND_MATMUL_DESCRIPTOR:
      return kMatmulRules;
    case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
      return kMatmulOperationRules;
    case CUDNN_BACKEND_REDUCTION_DESCRIPTOR:
      return kReductionRules;
    case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
      return kReductionOperationRules;
    case CUDNN_BACKEND_RESAMPLE_DESCRIPTOR:
      return kResampleRules;
    case CUDNN_BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR:
      return kResampleOperationRules;
    case CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR:
      return kNormRules;
    case CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR:
      return kAttentionRules;
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
      return kGraphRules;
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
      return kHeuristicRules;
    case CUDNN_BACKEND_ENGINECFG_DESCRIPTOR:
      return kConfigurationRules;
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
      return kPlanRules;
    case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
      return kPackRules;
    case CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR:
      return kDeviceRules;
    default:
      return {};
  }
}

const AttributeRule* FindRule(cudnnBackendDescriptorType_t type, cudnnBackendAttributeName_t name) {
  const absl::Span<const AttributeRule> rules = RulesOf(type);
  const auto found = std::find_if(rules.begin(), rules.end(),
                                  [&](const AttributeRule& rule) { return rule.name == name; });
  return found == rules.end() ? nullptr : &*found;
}

size_t BytesOf(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_BOOLEAN:
    case CUDNN_TYPE_CHAR:
      return 1;
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR:
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_DOUBLE:
      return 8;
    default:
      return 4;  // float, int32 and the enumerations
  }
}

bool IsOperation(cudnnBackendDescriptorType_t type) {
  switch (type) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR:
      return true;
    default:
      return false;
  }
}

}  // namespace plait::simulated_gpu
