#include "gpu_worker/backends/cpu/offers/digit_limits.h"
#include "gpu_worker/backends/cpu/offers/digit_variants.h"
#include "gpu_worker/backends/cpu/offers/epilogue.h"
#include "gpu_worker/backends/cpu/offers/format_rows.h"
#include "gpu_worker/backends/cpu/offers/pointwise.h"
#include "gpu_worker/backends/cpu/offers/worth_dividing.h"

namespace plait {
namespace {

bool IsProduct(const Graph& graph, const Node& node) {
  const Shape& input = graph.type(node.inputs[0]).shape;
  const Shape& output = graph.type(node.outputs[0]).shape;
  return IsDigitProduct({output[0] * output[2] * output[3], input[1], output[1]});
}

bool IsConvolution(const Graph& graph, const Node& node) {
  const Shape& input = graph.type(node.inputs[0]).shape;
  const Shape& weights = graph.type(node.inputs[1]).shape;
  const Shape& output = graph.type(node.outputs[0]).shape;
  std::vector<int64_t> pads = node.attributes->Ints("pads");
  if (pads.empty()) pads.assign(4, 0);
  return IsDigitConvolution(
      {.channels = input[1],
       .window = weights[2] * weights[3],
       .padded_pixels = (input[2] + pads[0] + pads[2]) * (input[3] + pads[1] + pads[3]),
       .result_channels = output[1],
       .result_pixels = output[0] * output[2] * output[3]});
}

bool Runs(const Graph& graph, NodeId id) {
  if (!IsImageConvolution(graph, id)) return false;
  const Node& node = graph.node(id);
  if (node.attributes->Int("group", 1) != 1) return false;
  return IsPointwise(graph, id) ? IsProduct(graph, node) : IsConvolution(graph, node);
}

}  // namespace

const FamilyOffer kConvInt8Offer = {
    .name = "conv_int8",
    .runs = Runs,
    .needs_admission = true,
    .instruction_set = "amx",
    .grow = GrowBehind<Runs>,
    // In plain the pixels of a piece would not lie beside each other.
    .formats = ChannelsLastRow,
    .variants = DigitVariants,
    .more_exact = MoreExactDigits,
    .less_exact = LessExactDigits,
    .worth_dividing = HasManyFlops,
};

}  // namespace plait
