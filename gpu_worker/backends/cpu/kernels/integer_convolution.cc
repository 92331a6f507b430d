#include "gpu_worker/backends/cpu/kernels/integer_convolution.h"

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/operands.h"
#include "gpu_worker/backends/cpu/offers/integer_sum.h"

namespace plait {
namespace {

bool HasScales(const Node& node) { return node.op == OpKind::kQLinearConv; }

absl::Status ReadExtents(LoadContext* context, const Node& node, IntegerConvolution* convolution) {
  const Shape& weights = context->graph().type(WeightsOf(node)).shape;
  PLAIT_ASSIGN_OR_RETURN(const std::vector<WindowAxis> window,
                         ReadWindow(*node.attributes, convolution->source.type,
                                    absl::MakeConstSpan(weights).subspan(2), /*ceil_mode=*/false));
  const std::vector<WindowAxis> axes = ThreeAxes(window);
  convolution->slices = axes[0];
  convolution->window = {axes[1], axes[2]};
  convolution->batch = convolution->source.type.shape[0];
  convolution->groups = node.attributes->Int("group", 1);
  convolution->source_channels = weights[1];
  convolution->channels = weights[0] / convolution->groups;
  // A channel more than there are: images may be kept with an even number of them.
  constexpr int64_t kNumbersMax = int64_t{1} << 31;
  const int64_t channels = convolution->pixel_channels() + 1;
  const int64_t slices = convolution->slice_count() * channels;
  if (convolution->lines() >= kNumbersMax / convolution->line_numbers() / slices) {
    return context->Refuse();
  }
  return absl::OkStatus();
}

ByteTerm TermOf(const Quantization& by) { return {by.scale, static_cast<int32_t>(by.zero_point)}; }

// Limits, result and addend.
absl::Status ReadResult(LoadContext* context, Format format, IntegerConvolution* convolution) {
  const Graph& graph = context->graph();
  const std::vector<NodeId>& nodes = context->kernel().nodes;
  const std::optional<IntegerSum> sum = ParseSum(graph, nodes);
  if (!sum) {
    const auto bounds = ParseBounds(graph, nodes);
    if (!bounds) return context->Refuse();
    convolution->limits = bounds->limits;
    PLAIT_ASSIGN_OR_RETURN(convolution->result, FindIn(context, bounds->result, format));
    return absl::OkStatus();
  }
  PLAIT_ASSIGN_OR_RETURN(convolution->result, FindIn(context, sum->result, format));
  IntegerAddend& addend = convolution->addend.emplace();
  PLAIT_ASSIGN_OR_RETURN(addend.bytes, FindIn(context, sum->addend, format));
  addend.convolution_dtype = graph.output_type(sum->root).dtype;
  addend.sum = {{TermOf(sum->root_by), TermOf(sum->addend_by)},
                sum->result_by.scale,
                ByteRangeOf(convolution->result.type.dtype,
                            static_cast<int32_t>(sum->result_by.zero_point), sum->limits)};
  return absl::OkStatus();
}

}  // namespace

void IntegerConvolution::AddBytes(std::byte* y, int64_t count) const {
  if (!addend) return;
  const auto add = Loops().integers.add[SignOf(dtype())][SignOf(addend->bytes.type.dtype)];
  auto* const bytes = reinterpret_cast<uint8_t*>(y);
  add(bytes, AddendAt(y), count, addend->sum, bytes);
}

void IntegerConvolution::SetFactors(absl::Span<float> factors) const {
  if (result.type.dtype == DataType::kInt32) return;
  for (size_t m = 0; m < factors.size(); ++m) {
    factors[m] = scales[0].scale(0) * scales[1].scale(static_cast<int64_t>(m)) / scales[2].scale(0);
  }
}

TensorId WeightsOf(const Node& node) { return node.inputs[HasScales(node) ? 3 : 1]; }

absl::Status ReadIntegerConvolution(LoadContext* context, const Node& node, Format format,
                                    IntegerConvolution* convolution) {
  PLAIT_ASSIGN_OR_RETURN(convolution->source, FindIn(context, node.inputs[0], format));
  PLAIT_RETURN_IF_ERROR(ReadResult(context, format, convolution));
  PLAIT_ASSIGN_OR_RETURN(convolution->source_zero_point, ByteParameterOf(context, node, 2));
  PLAIT_ASSIGN_OR_RETURN(convolution->weights_zero_point,
                         ByteParameterOf(context, node, HasScales(node) ? 5 : 3));
  PLAIT_RETURN_IF_ERROR(ReadExtents(context, node, convolution));
  if (!HasScales(node)) return absl::OkStatus();
  constexpr size_t kScales[] = {1, 4, 6};
  for (size_t i = 0; i < 3; ++i) {
    PLAIT_ASSIGN_OR_RETURN(convolution->scales[i], ByteParameterOf(context, node, kScales[i]));
  }
  PLAIT_ASSIGN_OR_RETURN(convolution->result_zero_point, ByteParameterOf(context, node, 7));
  PLAIT_ASSIGN_OR_RETURN(convolution->bias, ByteParameterOf(context, node, 8));
  return absl::OkStatus();
}

}  // namespace plait
