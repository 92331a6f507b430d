#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/onednn_kernel.h"
#include "gpu_worker/backends/cpu/kernels/operands.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"

namespace plait {
namespace {

struct PoolWindow {
  dnnl_dims_t kernel = {};
  dnnl_dims_t strides = {};
  dnnl_dims_t pads_begin = {};
  dnnl_dims_t pads_end = {};
};

// The padding behind is what makes the output as large as it is: rounding up adds to the model's.
PoolWindow PoolWindowOf(const Node& node, const Shape& input, const Shape& output) {
  const std::vector<int64_t> kernel = node.attributes->Ints("kernel_shape");
  const std::vector<int64_t> strides = node.attributes->Ints("strides");
  const std::vector<int64_t> pads = node.attributes->Ints("pads");
  PoolWindow window;
  for (size_t i = 0; i + 2 < input.size(); ++i) {
    window.kernel[i] = kernel[i];
    window.strides[i] = strides.empty() ? 1 : strides[i];
    window.pads_begin[i] = pads.empty() ? 0 : pads[i];
    const int64_t covered = (output[i + 2] - 1) * window.strides[i] + window.kernel[i];
    window.pads_end[i] = covered - input[i + 2] - window.pads_begin[i];
  }
  return window;
}

// Whether padding counts in the mean is a question of ONNX's attribute and of oneDNN's algorithm.
dnnl_alg_kind_t AlgorithmOf(const Node& node) {
  if (node.op == OpKind::kMaxPool) return dnnl_pooling_max;
  return node.attributes->Int("count_include_pad", 0) != 0 ? dnnl_pooling_avg_include_padding
                                                           : dnnl_pooling_avg_exclude_padding;
}

}  // namespace

// Variant "plain" or "channels_last": the format in which the primitive reads and writes.
absl::StatusOr<std::unique_ptr<CpuKernel>> LoadPool(LoadContext* context) {
  const Graph& graph = context->graph();
  const std::vector<NodeId>& nodes = context->kernel().nodes;
  if (nodes.size() != 1 || !kPoolOffer.runs(graph, nodes[0])) return context->Refuse();
  const Node& node = graph.node(nodes[0]);
  const bool channels_last = context->kernel().variant == FormatName(Format::kChannelsLast);
  const Format format = channels_last ? Format::kChannelsLast : Format::kPlain;
  PLAIT_ASSIGN_OR_RETURN(const Operand source, FindIn(context, node.inputs[0], format));
  PLAIT_ASSIGN_OR_RETURN(const Operand result, FindIn(context, node.outputs[0], format));
  PLAIT_ASSIGN_OR_RETURN(const dnnl_memory_desc_t source_description,
                         DescribeTensor(source.type.shape, format));
  PLAIT_ASSIGN_OR_RETURN(const dnnl_memory_desc_t result_description,
                         DescribeTensor(result.type.shape, format));
  const PoolWindow window = PoolWindowOf(node, source.type.shape, result.type.shape);
  dnnl_pooling_desc_t operation;
  PLAIT_RETURN_IF_ERROR(OnednnStatus(
      dnnl_pooling_forward_desc_init(&operation, dnnl_forward_inference, AlgorithmOf(node),
                                     &source_description, &result_description, window.strides,
                                     window.kernel, window.pads_begin, window.pads_end),
      "pooling"));
  PLAIT_ASSIGN_OR_RETURN(const OnednnAttributes attributes, NewOnednnAttributes());
  PLAIT_ASSIGN_OR_RETURN(const OnednnDescriptor descriptor,
                         context->onednn()->Describe(&operation, attributes.get()));
  return OnednnKernel::Create(context, descriptor,
                              {{DNNL_ARG_SRC, source_description, source.data},
                               {DNNL_ARG_DST, result_description, result.data}});
}

}  // namespace plait
