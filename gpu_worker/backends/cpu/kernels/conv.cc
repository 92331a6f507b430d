#include <algorithm>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/onednn_kernel.h"
#include "gpu_worker/backends/cpu/kernels/operands.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"

namespace plait {
namespace {

// A convolution's window, as oneDNN wants it.
struct ConvWindow {
  dnnl_dims_t strides = {};
  dnnl_dims_t dilations = {};  // 0 is dense
  dnnl_dims_t pads_begin = {};
  dnnl_dims_t pads_end = {};
};

// Absent attributes have ONNX's defaults; pads are all the begins, then all the ends.
ConvWindow ConvWindowOf(const Node& node, int spatial_rank) {
  const std::vector<int64_t> strides = node.attributes->Ints("strides");
  const std::vector<int64_t> dilations = node.attributes->Ints("dilations");
  const std::vector<int64_t> pads = node.attributes->Ints("pads");
  ConvWindow window;
  for (int i = 0; i < spatial_rank; ++i) {
    window.strides[i] = strides.empty() ? 1 : strides[i];
    window.dilations[i] = dilations.empty() ? 0 : dilations[i] - 1;
    window.pads_begin[i] = pads.empty() ? 0 : pads[i];
    window.pads_end[i] = pads.empty() ? 0 : pads[spatial_rank + i];
  }
  return window;
}

// [K, C/g, ...] as [g, K/g, C/g, ...]: the same bytes.
Shape WeightShape(const Shape& shape, int64_t groups) {
  if (groups == 1) return shape;
  Shape grouped = {groups, shape[0] / groups};
  grouped.insert(grouped.end(), shape.begin() + 1, shape.end());
  return grouped;
}

// A convolution kernel's nodes and tensors, read and checked.
struct Convolution {
  const Node* node = nullptr;
  Epilogue epilogue;
  TensorId bias = kNoTensor;
  absl::Span<const PostOperation> operations;  // what is left of the epilogue
  Operand source;
  Operand result;
  Format format = Format::kPlain;
  dnnl_memory_desc_t source_description;
  dnnl_memory_desc_t result_description;
  dnnl_memory_desc_t plain_weights;
  dnnl_memory_desc_t any_weights;
  dnnl_memory_desc_t bias_description;
};

// A per-channel addition right behind a convolution without bias becomes its bias: the primitive
// adds it to its sums before they leave the registers, which costs less than a post-operation.
absl::Status ReadNodes(LoadContext* context, Convolution* convolution) {
  const Graph& graph = context->graph();
  const std::vector<NodeId>& nodes = context->kernel().nodes;
  if (nodes.empty() || !kConvOffer.runs(graph, nodes[0])) return context->Refuse();
  const Node& node = graph.node(nodes[0]);
  convolution->node = &node;
  std::optional<Epilogue> epilogue =
      ParseEpilogue(graph, node.outputs[0], absl::MakeConstSpan(nodes).subspan(1),
                    ChannelAxisOf(graph, nodes[0]));
  if (!epilogue.has_value()) return context->Refuse();
  convolution->epilogue = *std::move(epilogue);
  convolution->operations = convolution->epilogue.operations;
  convolution->bias = node.inputs.size() > 2 ? node.inputs[2] : kNoTensor;
  if (convolution->bias == kNoTensor && !convolution->operations.empty() &&
      convolution->operations[0].kind == PostOperation::Kind::kAddChannel) {
    convolution->bias = convolution->operations[0].operand;
    convolution->operations.remove_prefix(1);
  }
  const bool channels_last = context->kernel().variant == FormatName(Format::kChannelsLast);
  convolution->format = channels_last ? Format::kChannelsLast : Format::kPlain;
  PLAIT_ASSIGN_OR_RETURN(convolution->source, FindIn(context, node.inputs[0], convolution->format));
  PLAIT_ASSIGN_OR_RETURN(convolution->result,
                         FindIn(context, convolution->epilogue.result, convolution->format));
  return absl::OkStatus();
}

// Data are described in the plan's format and only weights are left to the library: with a choice
// for data too it might take a blocked format, which no plan could name.
absl::Status DescribeTensors(const Graph& graph, Convolution* convolution) {
  const Node& node = *convolution->node;
  const Shape& shape = graph.type(node.inputs[1]).shape;
  const Shape weights = WeightShape(shape, node.attributes->Int("group", 1));
  PLAIT_ASSIGN_OR_RETURN(convolution->source_description,
                         DescribeTensor(convolution->source.type.shape, convolution->format));
  PLAIT_ASSIGN_OR_RETURN(convolution->result_description,
                         DescribeTensor(convolution->result.type.shape, convolution->format));
  PLAIT_ASSIGN_OR_RETURN(convolution->plain_weights, DescribeTensor(weights, Format::kPlain));
  PLAIT_ASSIGN_OR_RETURN(convolution->any_weights, DescribeAny(weights));
  PLAIT_ASSIGN_OR_RETURN(convolution->bias_description, DescribeTensor({shape[0]}, Format::kPlain));
  return absl::OkStatus();
}

// Weights that are known now are packed as oneDNN likes them best; others are read as they lie.
absl::Status AddWeights(LoadContext* context, const Convolution& convolution,
                        const OnednnDescriptor& descriptor,
                        std::vector<OnednnArgument>* arguments) {
  const TensorId weights = convolution.node->inputs[1];
  if (context->graph().tensor(weights).constant != nullptr) {
    const dnnl_memory_desc_t chosen = ChosenDescription(descriptor, DNNL_ARG_WEIGHTS);
    PLAIT_ASSIGN_OR_RETURN(const std::byte* const packed,
                           PackWeights(context, convolution.plain_weights, weights, chosen));
    arguments->push_back({DNNL_ARG_WEIGHTS, chosen, packed});
  } else {
    PLAIT_ASSIGN_OR_RETURN(const Operand values, context->Find(weights));
    if (values.format != Format::kPlain) return context->Refuse();
    arguments->push_back({DNNL_ARG_WEIGHTS, convolution.plain_weights, values.data});
  }
  if (convolution.bias == kNoTensor) return absl::OkStatus();
  PLAIT_ASSIGN_OR_RETURN(const Operand bias, context->Find(convolution.bias));
  arguments->push_back({DNNL_ARG_BIAS, convolution.bias_description, bias.data});
  return absl::OkStatus();
}

}  // namespace

// Variant "plain" or "channels_last": the format in which the primitive reads and writes. The
// implementation is asked for by descriptor, so that weights can be packed as it wants them before
// the primitive exists. The direct algorithm is named; left to choose, the library takes the same
// kernels for ResNet-50.
absl::StatusOr<std::unique_ptr<CpuKernel>> LoadConv(LoadContext* context) {
  Convolution convolution;
  PLAIT_RETURN_IF_ERROR(ReadNodes(context, &convolution));
  PLAIT_RETURN_IF_ERROR(DescribeTensors(context->graph(), &convolution));
  std::vector<OnednnArgument> arguments = {
      {DNNL_ARG_SRC, convolution.source_description, convolution.source.data},
      {DNNL_ARG_DST, convolution.result_description, convolution.result.data},
  };
  PLAIT_ASSIGN_OR_RETURN(const OnednnAttributes attributes, NewOnednnAttributes());
  const EpilogueTarget target = {convolution.result_description, convolution.result.format, 1};
  PLAIT_ASSIGN_OR_RETURN(const OnednnPostOperations post_operations, NewPostOperations());
  PLAIT_RETURN_IF_ERROR(
      AddEpilogue(context, convolution.operations, target, post_operations.get(), &arguments));
  PLAIT_RETURN_IF_ERROR(SetPostOperations(attributes.get(), post_operations.get()));
  const bool packs = context->graph().tensor(convolution.node->inputs[1]).constant != nullptr;
  const ConvWindow window = ConvWindowOf(*convolution.node, convolution.source.type.rank() - 2);
  dnnl_convolution_desc_t operation;
  PLAIT_RETURN_IF_ERROR(
      OnednnStatus(dnnl_dilated_convolution_forward_desc_init(
                       &operation, dnnl_forward_inference, dnnl_convolution_direct,
                       &convolution.source_description,
                       packs ? &convolution.any_weights : &convolution.plain_weights,
                       convolution.bias == kNoTensor ? nullptr : &convolution.bias_description,
                       &convolution.result_description, window.strides, window.dilations,
                       window.pads_begin, window.pads_end),
                   "convolution"));
  PLAIT_ASSIGN_OR_RETURN(const OnednnDescriptor descriptor,
                         context->onednn()->Describe(&operation, attributes.get()));
  PLAIT_RETURN_IF_ERROR(AddWeights(context, convolution, descriptor, &arguments));
  return OnednnKernel::Create(context, descriptor, arguments);
}

}  // namespace plait
