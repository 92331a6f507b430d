#include "gpu_worker/backends/model/offers/model_families.h"

#include <algorithm>
#include <optional>

#include "gpu_worker/backends/groups/epilogue.h"
#include "gpu_worker/backends/groups/format_rows.h"
#include "gpu_worker/backends/groups/node_checks.h"
#include "gpu_worker/backends/groups/separable_pattern.h"

namespace plait {
namespace {

std::vector<FormatRow> ImageRows(const Graph& graph, absl::Span<const NodeId> nodes) {
  return RowsIn(graph, nodes, {Format::kPlain, Format::kChannelsLast});
}

// Weights that are made at run time are read row-major.
std::vector<FormatRow> ConvRows(const Graph& graph, absl::Span<const NodeId> nodes) {
  const bool is_constant = graph.tensor(graph.node(nodes.front()).inputs[1]).constant != nullptr;
  return is_constant && IsSpatial(graph, nodes.front()) ? ImageRows(graph, nodes)
                                                        : PlainRow(graph, nodes);
}

// A separable convolution, also with the Relu in front of it that it alone reads.
std::vector<std::vector<NodeId>> GrowSeparable(const Graph& graph, NodeId node) {
  std::vector<NodeId> front;
  NodeId depthwise = node;
  if (IsOneOf(graph, node, {OpKind::kRelu})) {
    const TensorId value = graph.node(node).outputs[0];
    if (!graph.has_single_use(value) || graph.is_output(value)) return {};
    front = {node};
    depthwise = graph.users(value)[0];
    if (!IsDepthwise(graph, depthwise) || graph.node(depthwise).inputs[0] != value) return {};
  } else if (!IsDepthwise(graph, node)) {
    return {};
  }
  const std::optional<SeparablePattern> pattern = SeparableAt(graph, depthwise);
  if (!pattern.has_value()) return {};
  for (const NodeId of_pattern : NodesOf(*pattern)) front.push_back(of_pattern);
  std::sort(front.begin(), front.end());
  return GrowEpiloguesBehind(graph, front, pattern->pointwise);
}

std::vector<std::vector<NodeId>> GrowPool(const Graph& graph, NodeId node) {
  if (!kPoolOffer.runs(graph, node)) return {};
  return GrowEpilogues(graph, node);
}

}  // namespace

absl::Span<const ModelFamily> ModelFamilies() {
  static const ModelFamily families[] = {
      {.name = kViewFamily, .like = kViewOffer},
      {.name = "attention", .like = kAttentionOffer},
      {.name = "conv", .like = kConvOffer, .formats = ConvRows, .takes_parts = true},
      {.name = "separable",
       .like = kSeparableOffer,
       .grow = GrowSeparable,
       .formats = ImageRows,
       .takes_parts = true,
       .runs_alone = false},
      {.name = "matmul", .like = kMatmulOffer},
      {.name = "elementwise", .like = kElementwiseOffer, .takes_parts = true},
      {.name = "rows", .like = kSoftmaxOffer},
      {.name = "rows", .like = kLayerNormOffer},
      {.name = "rows", .like = kReduceOffer},
      {.name = "rows", .like = kInstanceNormOffer},
      {.name = "pool",
       .like = kPoolOffer,
       .grow = GrowPool,
       .formats = SpatialRows,
       .takes_parts = true},
      {.name = "move", .like = kConcatOffer, .takes_parts = true},
      {.name = "move", .like = kSliceOffer, .takes_parts = true},
      {.name = "move", .like = kTransposeOffer},
      {.name = "move", .like = kPadOffer},
      {.name = "move", .like = kGatherOffer},
      {.name = "move", .like = kExpandOffer},
      {.name = "move", .like = kResizeOffer, .takes_parts = true},
      {.name = "recurrent", .like = kRnnLayerOffer},
      // Columns of a recurrence that was unrolled do not look at each other: a thread has one.
      {.name = "elementwise", .like = kRecurrenceOffer, .runs_alone = false},
      {.name = "other", .like = kReferenceOffer, .last_resort = true},
  };
  return families;
}

}  // namespace plait
