#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/offers/worth_dividing.h"
#include "gpu_worker/backends/groups/attention_pattern.h"
#include "gpu_worker/backends/groups/format_rows.h"
#include "gpu_worker/backends/groups/node_checks.h"

namespace plait {
namespace {

// What is refused, causal masks and softcap among it, runs as reference code.
bool RunsAttention(const Graph& graph, NodeId node) {
  return IsOneOf(graph, node, {OpKind::kAttention}) && ParseAttention(graph, {node}).has_value();
}

std::vector<std::vector<NodeId>> AttentionGroups(const Graph& graph, NodeId node) {
  std::vector<NodeId> group = GrowAttention(graph, node);
  if (group.size() < 2) return {};
  return {std::move(group)};
}

// The time of few queries is that of their keys and values.
bool IsWorthDividing(const Graph& graph, const Kernel& kernel) {
  if (HasManyFlops(graph, kernel)) return true;
  const std::optional<AttentionPattern> pattern = ParseAttention(graph, kernel.nodes);
  return pattern.has_value() && graph.type(pattern->key.tensor).elements() >= kWideElementsMin &&
         graph.type(pattern->value.tensor).elements() >= kWideElementsMin;
}

}  // namespace

const FamilyOffer kAttentionOffer = {
    .name = "attention",
    .runs = RunsAttention,
    .instruction_set = "avx2",
    .grow = AttentionGroups,
    .formats = PlainRow,
    .worth_dividing = IsWorthDividing,
};

}  // namespace plait
