#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "base/random.h"
#include "optimizer/ir/text.h"
#include "optimizer/normal_form/canonicalize.h"
#include "tests/optimizer/normal_form/canonical.h"

// Random graphs, whose normal forms are compared with those of one rewrite at a time.

namespace plait {
namespace {

// One rewrite at a time, the first match in node order, and then from the first node again.
Graph CanonicalOneByOne(Graph graph) {
  RuleCounts counts;
  for (bool changed = true; changed;) {
    changed = false;
    graph = *FoldConstants(graph, &counts);
    graph = *MergeCommonSubexpressions(graph, &counts);
    for (NodeId node = 0; node < graph.node_count(); ++node) {
      for (const Rule* rule : AllRules()) {
        if (!rule->always_wins || rule->root != graph.node(node).op) continue;
        const Rewrites rewrites = rule->match(*rule, graph, node);
        if (rewrites.empty()) continue;
        graph = *Apply(graph, rewrites.front());
        changed = true;
        node = -1;
        break;
      }
    }
  }
  return graph;
}

// A graph of what exporters write around convolutions, all of one shape.
Graph RandomGraph(Random& random) {
  std::string text = R"(graph {
    input %x0: float32[1,4,5,5]
    const %one: float32[] = [1]
    const %shape: int64[4] = [1,4,5,5]
    const %flat: int64[2] = [4,25]
    const %halves: int64[2] = [2,2]
    const %variance: float32[4] = [0.5,1,1.5,2]
)";
  const int nodes = 40;
  for (int i = 1; i <= nodes; ++i) {
    const std::string id = std::to_string(i);
    const auto any = [&] {
      return "%x" + std::to_string(random.Integer(std::max(0, i - 4), i - 1));
    };
    const auto constant = [&](const std::string& name, const std::string& shape) {
      text += "    const %" + name + id + ": float32[" + shape + "] = synthetic " + id + "\n";
      return "%" + name + id;
    };
    const std::string x = any();
    std::string y;
    switch (random.Integer(0, 11)) {
      case 0:
        y = "Conv(" + x + ", " + constant("w", "4,4,1,1") + ") {}";
        break;
      case 1:
        y = "Mul(" + x + ", " + constant("s", "4,1,1") + ") {}";
        break;
      case 2:
        y = "Add(" + constant("b", "4,1,1") + ", " + x + ") {}";
        break;
      case 3:
        y = "BatchNormalization(" + x + ", " + constant("g", "4") + ", " + constant("h", "4") +
            ", " + constant("m", "4") + ", %variance) {}";
        break;
      case 4:
        y = "Relu(" + x + ") {}";
        break;
      case 5:
        y = "Add(" + x + ", " + any() + ") {}";
        break;
      case 6:
        text += "    %f" + id + " = Reshape(" + x + ", %flat) {}\n";
        y = "Reshape(%f" + id + ", %shape) {}";
        break;
      case 7:
        text += "    %p" + id + ", %q" + id + " = Split(" + x + ", %halves) {axis=1}\n";
        y = "Concat(%p" + id + ", %q" + id + ") {axis=1}";
        break;
      case 8:
        text += "    %f" + id + " = Transpose(" + x + ") {perm=[0,1,3,2]}\n";
        y = "Transpose(%f" + id + ") {perm=[0,1,3,2]}";
        break;
      case 9:
        y = "Mul(" + x + ", %one) {}";
        break;
      case 10:
        y = "Sub(" + x + ", " + constant("d", "1,4,1,1") + ") {}";
        break;
      default:
        y = "Identity(" + x + ") {}";
    }
    text += "    %x" + id + " = " + y + "\n";
  }
  return Parse(text + "    output %x" + std::to_string(nodes) + ", %x" + std::to_string(nodes - 1) +
               "\n}\n");
}

TEST(CanonicalizeTest, GivesTheOperatorsThatOneRewriteAtATimeGives) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Graph graph = RandomGraph(random);
    RuleCounts counts;
    const auto result = Canonicalize(graph, AllRules(), &counts);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(OperatorsOf(*result), OperatorsOf(CanonicalOneByOne(graph)));
    const auto again = Canonicalize(*result, AllRules(), &counts);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(PrintGraph(*again), PrintGraph(*result));
  }
}

TEST(CanonicalizeTest, KeepsTheFunctionOfRandomGraphs) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    RuleCounts counts;
    Canonical(RandomGraph(random), &counts);
  }
}

}  // namespace
}  // namespace plait
