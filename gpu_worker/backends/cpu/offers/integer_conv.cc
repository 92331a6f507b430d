#include <algorithm>
#include <utility>

#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/offers/integer_bounds.h"
#include "gpu_worker/backends/cpu/offers/integer_sum.h"
#include "gpu_worker/backends/cpu/offers/worth_dividing.h"
#include "gpu_worker/backends/groups/format_rows.h"
#include "gpu_worker/backends/groups/integer_checks.h"
#include "gpu_worker/backends/groups/node_checks.h"

namespace plait {
namespace {

size_t WeightsAt(const Node& node) { return node.op == OpKind::kQLinearConv ? 3 : 1; }

// Constant weights, which may have one scale and zero point of each of their channels; rows, images
// and volumes.
bool RunsIntegerConv(const Graph& graph, NodeId node) {
  if (!IsOneOf(graph, node, {OpKind::kConvInteger, OpKind::kQLinearConv})) return false;
  const Node& n = graph.node(node);
  const bool has_scales = n.op == OpKind::kQLinearConv;
  const size_t weights = WeightsAt(n);
  const size_t weights_zero_point = has_scales ? 5 : 3;
  const TensorType& type = graph.type(n.inputs[weights]);
  if (type.rank() < 3 || type.rank() > 5 || !HasExplicitPadding(n)) return false;
  if (graph.input_type(node, 0).elements() == 0 || type.elements() == 0) return false;
  if (!IsConstantOrOmitted(graph, n, weights)) return false;
  if (!IsConstantOrOmitted(graph, n, weights_zero_point)) return false;
  if (!HasOneOrEach(graph, n, weights_zero_point, type.shape[0])) return false;
  if (!has_scales) return true;
  for (const int scale : {1, 4, 6}) {
    if (graph.input_type(node, scale).dtype != DataType::kFloat32) return false;
  }
  return HasOneOrEach(graph, n, 4, type.shape[0]);
}

// A residual sum may begin with what dequantizes its other side.
std::vector<std::vector<NodeId>> GrowIntegerConv(const Graph& graph, NodeId node) {
  std::vector<std::vector<NodeId>> groups = GrowBounds<RunsIntegerConv>(graph, node);
  for (IntegerSum& sum : SumsFrom(graph, node)) {
    if (RunsIntegerConv(graph, sum.root)) groups.push_back(std::move(sum.nodes));
  }
  return groups;
}

// In row-major images pixels are gathered as columns of a product, of which a depthwise convolution
// has one of a single row for each channel: slower than both conversions and the loop over
// channels.
std::vector<FormatRow> FormatsOfIntegerConv(const Graph& graph, absl::Span<const NodeId> nodes) {
  const NodeId root = *std::find_if(nodes.begin(), nodes.end(), [&](NodeId node) {
    return graph.node(node).op != OpKind::kDequantizeLinear;
  });
  const Node& conv = graph.node(root);
  const Shape& weights = graph.type(conv.inputs[WeightsAt(conv)]).shape;
  const int64_t groups = conv.attributes->Int("group", 1);
  const bool is_depthwise = groups > 1 && groups == weights[0] && weights[1] == 1;
  return is_depthwise && IsSpatial(graph, root) ? ChannelsLastRow(graph, nodes)
                                                : SpatialRows(graph, nodes);
}

// Row-major images are gathered number by number.
double ExpectedIntegerConvShare(const Kernel& kernel) {
  const bool by_pixels =
      !kernel.input_formats.empty() && kernel.input_formats[0] == Format::kChannelsLast;
  return by_pixels ? 1.0 : 0.25;
}

}  // namespace

const FamilyOffer kIntegerConvOffer = {
    .name = "integer_conv",
    .runs = RunsIntegerConv,
    .grow = GrowIntegerConv,
    .formats = FormatsOfIntegerConv,
    .expected_share = ExpectedIntegerConvShare,
    .worth_dividing = HasManyFlops,
};

}  // namespace plait
