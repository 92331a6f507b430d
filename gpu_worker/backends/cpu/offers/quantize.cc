#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/offers/worth_dividing.h"
#include "gpu_worker/backends/groups/format_rows.h"
#include "gpu_worker/backends/groups/integer_checks.h"
#include "gpu_worker/backends/groups/node_checks.h"

namespace plait {
namespace {

// Between floats and bytes, with a scale for all of a tensor or for each index along an axis.
bool RunsQuantize(const Graph& graph, NodeId node) {
  if (!IsOneOf(
          graph, node,
          {OpKind::kQuantizeLinear, OpKind::kDequantizeLinear, OpKind::kDynamicQuantizeLinear})) {
    return false;
  }
  const Node& n = graph.node(node);
  const bool makes_floats = n.op == OpKind::kDequantizeLinear;
  const TensorType& from = graph.input_type(node, 0);
  const TensorType& to = graph.output_type(node);
  if (from.elements() == 0) return false;
  if (n.op == OpKind::kDynamicQuantizeLinear) return true;
  return IsByte(makes_floats ? from.dtype : to.dtype) &&
         (makes_floats ? to.dtype : from.dtype) == DataType::kFloat32 &&
         graph.input_type(node, 1).dtype == DataType::kFloat32 &&
         n.attributes->Int("block_size", 0) == 0;
}

// With one scale a tensor is quantized as it lies; a constant lies row-major.
std::vector<FormatRow> FormatsOfQuantize(const Graph& graph, absl::Span<const NodeId> nodes) {
  const Node& node = graph.node(nodes.front());
  const bool has_one =
      node.op == OpKind::kDynamicQuantizeLinear || graph.type(node.inputs[1]).elements() == 1;
  const bool is_constant = graph.tensor(node.inputs[0]).constant != nullptr;
  return has_one && !is_constant ? SpatialRows(graph, nodes) : PlainRow(graph, nodes);
}

}  // namespace

const FamilyOffer kQuantizeOffer = {
    .name = "quantize",
    .runs = RunsQuantize,
    .formats = FormatsOfQuantize,
    .worth_dividing = HasManyElements,
};

}  // namespace plait
