#include "optimizer/integer_form/integer_form.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "optimizer/ir/rewrite_batch.h"

namespace plait {
namespace {

constexpr const Rule* kRules[] = {&kIntegerConv, &kIntegerGemm, &kIntegerMatMul};

Rewrites FirstMatch(const Graph& graph, NodeId node) {
  for (const Rule* rule : kRules) {
    if (graph.node(node).op != rule->root) continue;
    Rewrites rewrites = rule->match(*rule, graph, node);
    if (!rewrites.empty()) return rewrites;
  }
  return {};
}

}  // namespace

absl::Span<const Rule* const> IntegerRules() { return kRules; }

// Neighbours share the integers between them, and wait for the next sweep: of a chain every second
// operator is rewritten in each. Ends, since each rewrite takes a product of floats
// away.
absl::StatusOr<Graph> IntegerForm(const Graph& graph) {
  Graph current = graph;
  while (true) {
    RewriteBatch batch(current);
    for (NodeId node = 0; node < current.node_count(); ++node) {
      Rewrites rewrites = FirstMatch(current, node);
      if (!rewrites.empty()) batch.Add(std::move(rewrites.front()));
    }
    if (batch.rewrites().empty()) return current;
    absl::StatusOr<Graph> rewritten = Apply(current, batch.rewrites());
    if (!rewritten.ok()) {
      return absl::InternalError(absl::StrCat("integer form: ", rewritten.status().message()));
    }
    current = *std::move(rewritten);
  }
}

}  // namespace plait
