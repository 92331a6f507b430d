#include <algorithm>

#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/offers/node_checks.h"
#include "optimizer/kernels/format_rules.h"
#include "optimizer/kernels/strided_view.h"
#include "optimizer/ops/shared/op_spec.h"

namespace plait {
namespace {

// From tokens to images it takes a Transpose and a Reshape.
constexpr size_t kChainMax = 3;

// Every pair of formats between which the bytes stay what they are.
std::vector<FormatRow> Formats(const Graph& graph, absl::Span<const NodeId> nodes) {
  const TensorType& input = graph.input_type(nodes.front(), 0);
  const TensorType& output = graph.output_type(nodes.back());
  std::vector<FormatRow> rows;
  for (const Format from : kAllFormats) {
    if (EffectiveFormat(input, from) != from) continue;
    for (const Format to : kAllFormats) {
      if (EffectiveFormat(output, to) != to || !KeepsBytes(graph, nodes, from, to)) continue;
      rows.push_back({from, {from}, {to}});
    }
  }
  return rows;
}

bool IsTranspose(const Graph& graph, NodeId node) {
  return IsOneOf(graph, node, {OpKind::kTranspose});
}

bool MayBeView(const Graph& graph, NodeId node) {
  return HasEnds(graph, node) && HasOneOutput(graph.node(node)) &&
         (IsTranspose(graph, node) || HasTraits(graph.node(node).op, kView)) &&
         BytesOf(graph.output_type(node).dtype) > 0;
}

bool Runs(const Graph& graph, NodeId node) {
  return MayBeView(graph, node) && !Formats(graph, {node}).empty();
}

// Chains in which a Transpose moves nothing, because what it is to move lies so already.
std::vector<std::vector<NodeId>> Grow(const Graph& graph, NodeId node) {
  std::vector<std::vector<NodeId>> chains;
  std::vector<NodeId> chain;
  while (chain.size() < kChainMax && MayBeView(graph, node)) {
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

const FamilyOffer kViewOffer = {
    .name = kViewFamily,
    .runs = Runs,
    .grow = Grow,
    .formats = Formats,
};

}  // namespace plait
