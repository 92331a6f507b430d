#pragma once

#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "optimizer/normal_form/canonicalize.h"
#include "optimizer/ops/shared/op_spec.h"
#include "tests/optimizer/rules/equivalence.h"

namespace plait {

inline Graph Parse(absl::string_view text) {
  auto graph = ParseTypedGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *std::move(graph);
}

inline Graph Canonical(const Graph& graph, RuleCounts* counts) {
  auto result = Canonicalize(graph, AllRules(), counts);
  EXPECT_TRUE(result.ok()) << result.status();
  const absl::Status equivalent = CheckEquivalent(graph, *result, /*exact=*/false).status();
  EXPECT_TRUE(equivalent.ok()) << equivalent;
  return *std::move(result);
}

// The operators in their order. What is folded into which of two neighbours, and which of two
// outputs names what became one tensor, may depend on the order of rewrites.
inline std::string OperatorsOf(const Graph& graph) {
  std::string text;
  for (const Node& node : graph.nodes()) text += std::string(OpKindName(node.op)) + " ";
  return text;
}

}  // namespace plait
