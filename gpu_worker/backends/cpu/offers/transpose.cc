#include <algorithm>

#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/offers/format_rows.h"
#include "gpu_worker/backends/cpu/offers/node_checks.h"
#include "gpu_worker/backends/cpu/offers/worth_dividing.h"
#include "optimizer/kernels/format_rules.h"
#include "optimizer/kernels/strided_view.h"
#include "optimizer/ops/shared/op_spec.h"

namespace plait {
namespace {

// Shuffled channels, pixels made of channels and windows of images are Reshape, Transpose, Reshape.
constexpr size_t kChainMax = 3;

bool IsTranspose(const Graph& graph, NodeId node) {
  return IsOneOf(graph, node, {OpKind::kTranspose});
}

bool Runs(const Graph& graph, NodeId node) {
  return IsTranspose(graph, node) && IsMovable(graph, node);
}

bool MayMove(const Graph& graph, NodeId node) {
  return HasEnds(graph, node) && IsMovable(graph, node) &&
         (IsTranspose(graph, node) || HasTraits(graph.node(node).op, kView));
}

// A node alone is row-major on both sides: in channels-last a transpose would be another one, or a
// view, and between two reshapes of rows all but the Transpose is nothing. A chain is there for the
// formats in which none of its nodes runs alone.
std::vector<FormatRow> Formats(const Graph& graph, absl::Span<const NodeId> nodes) {
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

std::vector<std::vector<NodeId>> Grow(const Graph& graph, NodeId node) {
  std::vector<std::vector<NodeId>> chains;
  std::vector<NodeId> chain;
  while (chain.size() < kChainMax && MayMove(graph, node)) {
    chain.push_back(node);
    const bool transposes = std::any_of(chain.begin(), chain.end(),
                                        [&](NodeId link) { return IsTranspose(graph, link); });
    if (chain.size() > 1 && transposes && !Formats(graph, chain).empty()) chains.push_back(chain);
    const absl::Span<const NodeId> users = graph.users(graph.node(node).outputs[0]);
    if (users.size() != 1) break;
    node = users[0];
  }
  return chains;
}

}  // namespace

const FamilyOffer kTransposeOffer = {
    .name = "transpose",
    .runs = Runs,
    .grow = Grow,
    .formats = Formats,
    .worth_dividing = HasManyElements,
};

}  // namespace plait
