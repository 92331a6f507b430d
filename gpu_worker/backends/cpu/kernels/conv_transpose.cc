#include <algorithm>
#include <utility>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/onednn_kernel.h"
#include "gpu_worker/backends/cpu/kernels/operands.h"
#include "gpu_worker/backends/cpu/kernels/row_epilogue.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/team/team.h"
#include "optimizer/kernels/format_rules.h"
#include "optimizer/ops/shared/transposed_window.h"

namespace plait {
namespace {

// oneDNN's primitive, and what follows it: that it would do by a function call for each element,
// which took ten times as long as the convolution of a kernel of 2x2, and its bias doubled the
// time.
class ConvTransposeKernel : public CpuKernel {
 public:
  // The result as rows: pixels with their channels, or planes with one channel each.
  struct Rows {
    float* data = nullptr;
    int64_t count = 0;
    int64_t floats = 0;  // of a row
    bool are_planes = false;
    int64_t channels = 0;
  };

  ConvTransposeKernel(int threads, std::unique_ptr<CpuKernel> primitive, const Rows& rows,
                      RowEpilogue epilogue)
      : threads_(threads),
        primitive_(std::move(primitive)),
        rows_(rows),
        epilogue_(std::move(epilogue)) {}

  absl::Status Run() override {
    PLAIT_RETURN_IF_ERROR(primitive_->Run());
    if (rows_.are_planes && epilogue_.bias() == nullptr) return absl::OkStatus();
    ForEachPart(threads_, rows_.count, [&](int64_t begin, int64_t end, int) {
      if (rows_.floats == 1 && !rows_.are_planes) return FinishNumbers(begin, end);
      for (int64_t row = begin; row < end; ++row) Finish(row);
    });
    return absl::OkStatus();
  }

 private:
  void Finish(int64_t row) const {
    float* const values = rows_.data + row * rows_.floats;
    const float* const bias = epilogue_.bias();
    if (rows_.are_planes) {
      Loops().unary[static_cast<int>(UnaryLoop::kLinear)](values, values, rows_.floats, 1,
                                                          bias[row % rows_.channels]);
      return;
    }
    if (bias != nullptr) {
      Loops().binary[static_cast<int>(BinaryLoop::kAdd)](values, bias, values, rows_.floats);
    }
    epilogue_.Apply(values, row, 0, rows_.floats);
  }

  // Rows of one number each are one long row: a mask's.
  void FinishNumbers(int64_t begin, int64_t end) const {
    float* const values = rows_.data + begin;
    const float* const bias = epilogue_.bias();
    if (bias != nullptr) {
      Loops().unary[static_cast<int>(UnaryLoop::kLinear)](values, values, end - begin, 1, *bias);
    }
    epilogue_.ApplyToRows(values, begin, end - begin);
  }

  int threads_;
  std::unique_ptr<CpuKernel> primitive_;
  Rows rows_;
  RowEpilogue epilogue_;
};

// The weights [C, M/g, ...] as oneDNN counts them: [M, C, ...], or [g, M/g, C/g, ...].
struct Weights {
  Shape shape;
  Shape strides;
};

Weights OneDnnWeightsOf(const TensorType& type, int64_t groups) {
  Weights weights = {type.shape, StridesOf(type, Format::kPlain)};
  size_t first = 0;
  if (groups > 1) {
    weights.shape[0] /= groups;
    weights.shape.insert(weights.shape.begin(), groups);
    weights.strides.insert(weights.strides.begin(), weights.strides[0] * weights.shape[1]);
    first = 1;
  }
  std::swap(weights.shape[first], weights.shape[first + 1]);
  std::swap(weights.strides[first], weights.strides[first + 1]);
  return weights;
}

// The primitive without bias and what follows.
absl::StatusOr<std::unique_ptr<CpuKernel>> LoadPrimitive(LoadContext* context, const Node& node,
                                                         Format format, const Operand& source,
                                                         const Operand& result) {
  const TensorType& type = context->graph().type(node.inputs[1]);
  const Weights weights = OneDnnWeightsOf(type, node.attributes->Int("group", 1));
  PLAIT_ASSIGN_OR_RETURN(const std::vector<WindowAxis> window,
                         ReadTransposedWindow(*node.attributes, source.type,
                                              absl::MakeConstSpan(type.shape).subspan(2)));
  dnnl_dims_t strides = {};
  dnnl_dims_t dilations = {};
  dnnl_dims_t pads_begin = {};
  dnnl_dims_t pads_end = {};
  for (size_t i = 0; i < window.size(); ++i) {
    strides[i] = window[i].stride;
    dilations[i] = window[i].dilation - 1;
    pads_begin[i] = window[i].pad_begin;
    pads_end[i] = window[i].pad_end;
  }
  const bool packs = context->graph().tensor(node.inputs[1]).constant != nullptr;
  PLAIT_ASSIGN_OR_RETURN(const dnnl_memory_desc_t from, DescribeTensor(source.type.shape, format));
  PLAIT_ASSIGN_OR_RETURN(const dnnl_memory_desc_t to, DescribeTensor(result.type.shape, format));
  PLAIT_ASSIGN_OR_RETURN(const dnnl_memory_desc_t plain,
                         DescribeStrided(weights.shape, weights.strides));
  PLAIT_ASSIGN_OR_RETURN(const dnnl_memory_desc_t any, DescribeAny(weights.shape));
  dnnl_deconvolution_desc_t operation;
  PLAIT_RETURN_IF_ERROR(OnednnStatus(
      dnnl_dilated_deconvolution_forward_desc_init(
          &operation, dnnl_forward_inference, dnnl_deconvolution_direct, &from,
          packs ? &any : &plain, nullptr, &to, strides, dilations, pads_begin, pads_end),
      "transposed convolution"));
  PLAIT_ASSIGN_OR_RETURN(const OnednnAttributes attributes, NewOnednnAttributes());
  PLAIT_ASSIGN_OR_RETURN(const OnednnDescriptor descriptor,
                         context->onednn()->Describe(&operation, attributes.get()));
  std::vector<OnednnArgument> arguments = {{DNNL_ARG_SRC, from, source.data},
                                           {DNNL_ARG_DST, to, result.data}};
  if (packs) {
    const dnnl_memory_desc_t chosen = ChosenDescription(descriptor, DNNL_ARG_WEIGHTS);
    PLAIT_ASSIGN_OR_RETURN(const std::byte* const packed,
                           PackWeights(context, plain, node.inputs[1], chosen));
    arguments.push_back({DNNL_ARG_WEIGHTS, chosen, packed});
  } else {
    PLAIT_ASSIGN_OR_RETURN(const Operand values, FindIn(context, node.inputs[1], Format::kPlain));
    arguments.push_back({DNNL_ARG_WEIGHTS, plain, values.data});
  }
  return OnednnKernel::Create(context, descriptor, arguments);
}

}  // namespace

// ConvTranspose in the format of its ends, and in channels-last what follows it.
absl::StatusOr<std::unique_ptr<CpuKernel>> LoadConvTranspose(LoadContext* context) {
  const Graph& graph = context->graph();
  const std::vector<NodeId>& nodes = context->kernel().nodes;
  if (nodes.empty() || !kConvTransposeOffer.runs(graph, nodes[0])) return context->Refuse();
  const Node& node = graph.node(nodes[0]);
  Format format = Format::kChannelsLast;
  if (nodes.size() == 1) {
    PLAIT_ASSIGN_OR_RETURN(const Ends ends, EndsOf(context, node.inputs[0], node.outputs[0]));
    format = ends.format;
  }
  const int64_t channels = graph.output_type(nodes[0]).shape[1];
  PLAIT_ASSIGN_OR_RETURN(RowLayer layer, ReadRowLayer(context, format, channels));
  const TensorType& type = layer.result.type;
  ConvTransposeKernel::Rows rows = {layer.result.floats(), type.elements() / channels, channels,
                                    format == Format::kPlain, channels};
  if (rows.are_planes) {
    rows.count = type.shape[0] * channels;
    rows.floats = type.elements() / rows.count;
  }
  PLAIT_ASSIGN_OR_RETURN(std::unique_ptr<CpuKernel> primitive,
                         LoadPrimitive(context, node, format, layer.source, layer.result));
  return std::make_unique<ConvTransposeKernel>(context->width(), std::move(primitive), rows,
                                               std::move(layer.epilogue));
}

}  // namespace plait
