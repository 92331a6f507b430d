#include "gpu_worker/backends/groups/move_chains.h"

#include <algorithm>

#include "gpu_worker/backends/groups/node_checks.h"
#include "optimizer/kernels/format_rules.h"
#include "optimizer/kernels/strided_view.h"
#include "optimizer/ops/shared/op_spec.h"

namespace plait {
namespace {

// From tokens to images it takes a Transpose and a Reshape; shuffled channels, pixels made of
// channels and windows of images are Reshape, Transpose, Reshape.
constexpr size_t kChainMax = 3;

bool IsTranspose(const Graph& graph, NodeId node) {
  return IsOneOf(graph, node, {OpKind::kTranspose});
}

// A format of its own for the type, in which elements lie as what they are.
bool IsOwnFormat(const TensorType& type, Format format) {
  return EffectiveFormat(type, format) == format && IsStoredWhole(type, format);
}

bool MayBeView(const Graph& graph, NodeId node) {
  return HasEnds(graph, node) && HasOneOutput(graph.node(node)) &&
         (IsTranspose(graph, node) || HasTraits(graph.node(node).op, kView)) &&
         BytesOf(graph.output_type(node).dtype) > 0;
}

bool MayMove(const Graph& graph, NodeId node) {
  return HasEnds(graph, node) && IsMovable(graph, node) &&
         (IsTranspose(graph, node) || HasTraits(graph.node(node).op, kView));
}

template <typename MayJoin, typename Rows>
std::vector<std::vector<NodeId>> GrowChains(const Graph& graph, NodeId node, MayJoin may_join,
                                            Rows rows) {
  std::vector<std::vector<NodeId>> chains;
  std::vector<NodeId> chain;
  while (chain.size() < kChainMax && may_join(graph, node)) {
    chain.push_back(node);
    const bool transposes = std::any_of(chain.begin(), chain.end(),
                                        [&](NodeId link) { return IsTranspose(graph, link); });
    if (chain.size() > 1 && transposes && !rows(graph, chain).empty()) chains.push_back(chain);
    const absl::Span<const NodeId> users = graph.users(graph.node(node).outputs[0]);
    if (users.size() != 1) break;
    node = users[0];
  }
  return chains;
}

}  // namespace

bool IsView(const Graph& graph, NodeId node) {
  return MayBeView(graph, node) && !ViewRows(graph, {node}).empty();
}

std::vector<std::vector<NodeId>> GrowViews(const Graph& graph, NodeId node) {
  return GrowChains(graph, node, MayBeView, ViewRows);
}

std::vector<FormatRow> ViewRows(const Graph& graph, absl::Span<const NodeId> nodes) {
  const TensorType& input = graph.input_type(nodes.front(), 0);
  const TensorType& output = graph.output_type(nodes.back());
  std::vector<FormatRow> rows;
  for (const Format from : kAllFormats) {
    if (!IsOwnFormat(input, from)) continue;
    for (const Format to : kAllFormats) {
      if (!IsOwnFormat(output, to) || !KeepsBytes(graph, nodes, from, to)) continue;
      rows.push_back({from, {from}, {to}});
    }
  }
  return rows;
}

bool IsMove(const Graph& graph, NodeId node) {
  return IsTranspose(graph, node) && IsMovable(graph, node);
}

std::vector<std::vector<NodeId>> GrowMoves(const Graph& graph, NodeId node) {
  return GrowChains(graph, node, MayMove, MoveRows);
}

// A node alone is row-major on both sides: in channels-last a transpose would be another one, or a
// view, and between two reshapes of rows all but the Transpose is nothing. A chain is there for the
// formats in which none of its nodes runs alone.
std::vector<FormatRow> MoveRows(const Graph& graph, absl::Span<const NodeId> nodes) {
  if (nodes.size() == 1) return PlainRow(graph, nodes);
  const TensorType& input = graph.input_type(nodes.front(), 0);
  const TensorType& output = graph.output_type(nodes.back());
  std::vector<FormatRow> rows;
  for (const Format from : {Format::kPlain, Format::kChannelsLast}) {
    for (const Format to : {Format::kPlain, Format::kChannelsLast}) {
      if (from == Format::kPlain && to == Format::kPlain) continue;
      if (EffectiveFormat(input, from) != from || EffectiveFormat(output, to) != to) continue;
      if (KeepsBytes(graph, nodes, from, to)) continue;
      if (MoveThrough(graph, nodes, from, to).has_value()) rows.push_back({from, {from}, {to}});
    }
  }
  return rows;
}

}  // namespace plait
