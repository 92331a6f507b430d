#include "optimizer/normal_form/canonicalize.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_replace.h"
#include "optimizer/ir/text.h"
#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/rewrite_builder.h"
#include "tests/optimizer/normal_form/canonical.h"

namespace plait {
namespace {

TEST(CanonicalizeTest, FoldsBatchNormalizationIntoTheConvolution) {
  const Graph graph = Parse(R"(graph {
    input %x: float32[1,2,5,5]
    const %w: float32[3,2,3,3] = synthetic 1
    const %s: float32[3] = synthetic 2
    const %b: float32[3] = synthetic 3
    const %m: float32[3] = synthetic 4
    const %v: float32[3] = [0.5,1.5,2.5]
    %c = Conv(%x, %w) {pads=[1,1,1,1]}
    %n = BatchNormalization(%c, %s, %b, %m, %v) {epsilon=0.001}
    %y = Relu(%n) {}
    output %y
  })");
  RuleCounts counts;
  const Graph result = Canonical(graph, &counts);
  EXPECT_EQ(result.node_count(), 2);
  EXPECT_EQ(result.node(0).op, OpKind::kConv);
  EXPECT_EQ(counts["batch_normalization_after_conv"], 1);
  EXPECT_EQ(counts["scale_after_conv"], 1);
  EXPECT_EQ(counts["bias_after_conv"], 1);
}

TEST(CanonicalizeTest, MergesCommonSubexpressionsButKeepsTwoOutputs) {
  const Graph graph = Parse(R"(graph {
    input %x: float32[2,2]
    input %y: float32[2,2]
    %a = Add(%x, %y) {}
    %b = Add(%y, %x) {}
    %c = Mul(%a, %b) {}
    %d = Exp(%c) {}
    %e = Exp(%c) {}
    output %d, %e
  })");
  RuleCounts counts;
  const Graph result = Canonical(graph, &counts);
  EXPECT_EQ(counts["merge_common_subexpressions"], 1);
  EXPECT_EQ(result.node_count(), 4);
  EXPECT_EQ(*result.tensor(result.outputs()[0]).name, "d");
  EXPECT_EQ(*result.tensor(result.outputs()[1]).name, "e");
}

TEST(CanonicalizeTest, FoldsChainsOfConstants) {
  const Graph graph = Parse(R"(graph {
    input %x: float32[2,3]
    const %w: float32[3,4] = synthetic 1
    const %v: float32[3,4] = synthetic 2
    %s = Add(%w, %v) {}
    %t = Neg(%s) {}
    %y = MatMul(%x, %t) {}
    output %y
  })");
  RuleCounts counts;
  const Graph result = Canonical(graph, &counts);
  EXPECT_EQ(result.node_count(), 1);
  EXPECT_EQ(counts["fold_constants"], 2);
}

// The example at the head of canonicalize.cc.
// What a plan's text may not hold, and what would take hours to compute, stays a node.
TEST(CanonicalizeTest, FoldsNoMoreThanAConstantMayTake) {
  std::string text = "graph {\n  input %x: float32[300]\n  const %c0: float32[300] = synthetic 1\n";
  for (int i = 0; i < 1500; ++i) {
    absl::StrAppend(&text, "  %c", i + 1, " = ", i % 2 == 0 ? "Abs" : "Neg", "(%c", i, ")\n");
  }
  absl::StrAppend(&text, "  %y = Add(%x, %c1500)\n  output %y\n}\n");
  RuleCounts counts;
  const Graph deep = Canonical(Parse(text), &counts);
  EXPECT_GT(deep.node_count(), 1);
  EXPECT_TRUE(ParseGraph(PrintGraph(deep)).ok()) << ParseGraph(PrintGraph(deep)).status();
  const Graph hard = Parse(R"(graph {
  input %x: float32[4]
  const %c: float32[4,4,4,4] = synthetic 1
  %s: float32[] = Einsum(%c, %c, %c, %c, %c) {equation="abcd,efgh,ijkl,mnop,qrst->"}
  %y = Mul(%x, %s) {}
  output %y
})");
  const absl::StatusOr<Graph> result = Canonicalize(hard, {}, &counts);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->node_count(), 2);
}

TEST(CanonicalizeTest, MergesWhatRulesMadeEqual) {
  const Graph graph = Parse(R"(graph {
    input %x: float32[2,3]
    const %c: float32[3] = synthetic 1
    %a = Identity(%x) {}
    %k = Neg(%c) {}
    %p = Exp(%a) {}
    %q = Exp(%x) {}
    %r = Add(%p, %k) {}
    %y = Mul(%r, %q) {}
    output %y
  })");
  RuleCounts counts;
  const Graph result = Canonical(graph, &counts);
  ASSERT_EQ(result.node_count(), 3);
  EXPECT_EQ(result.node(2).inputs[1], result.node(0).outputs[0]);
  EXPECT_EQ(counts, (RuleCounts{{"fold_constants", 1},
                                {"merge_common_subexpressions", 1},
                                {"remove_identity", 1}}));
}

TEST(CanonicalizeTest, KeepsAPowerThatBroadcasts) {
  const Graph graph = Parse(R"(graph {
    input %x: float32[3]
    const %one: float32[1,1] = [1]
    %y = Pow(%x, %one) {}
    output %y
  })");
  RuleCounts counts;
  EXPECT_EQ(Canonical(graph, &counts).fingerprint(), graph.fingerprint());
}

// A reduction of NASNet: every other pixel, from the first one and from the second one on, of which
// 8 have all they need and 7 lack the last.
TEST(CanonicalizeTest, ReadsWhatPoolsOfOnePixelTakeWithoutCopies) {
  for (const std::string size : {"7", "8"}) {
    const Graph graph = Parse(absl::StrReplaceAll(R"(graph {
      input %x: float32[1,2,N,N]
      const %p: int64[8] = [0,0,0,0,0,0,1,1]
      const %from: int64[2] = [1,1]
      const %to: int64[2] = [2147483647,2147483647]
      const %axes: int64[2] = [2,3]
      const %w: float32[3,2,1,1] = synthetic 1
      const %v: float32[3,2,1,1] = synthetic 2
      %r = Relu(%x) {}
      %a = AveragePool(%r) {kernel_shape=[1,1], strides=[2,2]}
      %y = Conv(%a, %w) {}
      %b = Pad(%r, %p) {}
      %c = Slice(%b, %from, %to, %axes) {}
      %d = AveragePool(%c) {kernel_shape=[1,1], strides=[2,2]}
      %z = Conv(%d, %v) {}
      output %y, %z
    })",
                                                  {{"N", size}}));
    RuleCounts counts;
    EXPECT_EQ(OperatorsOf(Canonical(graph, &counts)), "Relu Conv Slice Conv ") << size;
  }
}

// Exp(x) = Neg(x) + 1, and Tanh(x) = x * 2 where a Neg alone reads it: the rule on the later node
// comes first.
const Rule kExpToNeg = {
    .name = "exp_to_neg",
    .law = "Exp(x) = Neg(x) + 1",
    .root = OpKind::kExp,
    .match = [](const Rule&, const Graph& graph, NodeId node) -> Rewrites {
      RewriteBuilder builder(graph);
      const TensorId negative = builder.Add(OpKind::kNeg, {}, {graph.node(node).inputs[0]});
      const TensorId one = builder.AddConstant(Tensor::ScalarFloat(1));
      return builder.Replace(node, builder.Add(OpKind::kAdd, {}, {negative, one}));
    },
    .always_wins = true,
};
const Rule kTanhToMul = {
    .name = "tanh_to_mul",
    .law = "Neg(Tanh(x)) = Neg(x * 2)",
    .root = OpKind::kTanh,
    .match = [](const Rule&, const Graph& graph, NodeId node) -> Rewrites {
      if (SoleUser(graph, graph.node(node).outputs[0], OpKind::kNeg) == kNoNode) return {};
      RewriteBuilder builder(graph);
      const TensorId two = builder.AddConstant(Tensor::ScalarFloat(2));
      return builder.Replace(node,
                             builder.Add(OpKind::kMul, {}, {graph.node(node).inputs[0], two}));
    },
    .always_wins = true,
};

TEST(CanonicalizeTest, NamesWhatItMakesByItsPlace) {
  const Graph graph = Parse(R"(graph {
    input %t1: float32[2,3]
    %a = Tanh(%t1) {}
    %y = Exp(%a) {}
    output %y
  })");
  const Rule* const rules[] = {&kExpToNeg, &kTanhToMul};
  RuleCounts counts;
  const auto result = Canonicalize(graph, rules, &counts);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(PrintGraph(*result),
            "graph {\n"
            "  input %t1: float32[2,3]\n"
            "  const %t0: float32[] = [2]\n"
            "  const %t3: float32[] = [1]\n"
            "  %a: float32[2,3] = Mul(%t1, %t0) {}\n"
            "  %t2: float32[2,3] = Neg(%a) {}\n"
            "  %y: float32[2,3] = Add(%t2, %t3) {}\n"
            "  output %y\n"
            "}\n");
}

// How often the rule below was asked: the work of a normal form, without a clock.
int questions = 0;

// Of three nodes in a row one is asked about in vain, and one changes.
TEST(CanonicalizeTest, AsksAboutEachNodeAFewTimes) {
  const Rule never = {
      .name = "never",
      .law = "Exp(x) = Exp(x)",
      .root = OpKind::kExp,
      .match = [](const Rule&, const Graph&, NodeId) -> Rewrites {
        ++questions;
        return {};
      },
      .always_wins = true,
  };
  const Rule* const rules[] = {&never, &kTanhToMul};
  constexpr int kRows = 200;
  std::string text = "graph {\n  input %x0: float32[2,3]\n";
  for (int row = 0; row < kRows; ++row) {
    const std::string id = std::to_string(row);
    text += "  %a" + id + " = Exp(%x" + id + ") {}\n  %b" + id + " = Tanh(%a" + id + ") {}\n";
    text += "  %x" + std::to_string(row + 1) + " = Neg(%b" + id + ") {}\n";
  }
  const Graph graph = Parse(text + "  output %x" + std::to_string(kRows) + "\n}\n");
  questions = 0;
  RuleCounts counts;
  ASSERT_TRUE(Canonicalize(graph, rules, &counts).ok());
  EXPECT_EQ(counts["tanh_to_mul"], kRows);
  EXPECT_LE(questions, 4 * kRows);
}

TEST(CanonicalizeTest, NamesTheRuleThatIsWrong) {
  const Rule wrong = {
      .name = "forgets_its_output",
      .law = "Tanh(x) =",
      .root = OpKind::kTanh,
      .match = [](const Rule&, const Graph&, NodeId node) -> Rewrites {
        Rewrite rewrite;
        rewrite.removed = {node};
        return {rewrite};
      },
      .always_wins = true,
  };
  const Rule* const rules[] = {&kExpToNeg, &wrong};
  const Graph graph = Parse(R"(graph {
    input %x: float32[2,3]
    %a = Exp(%x) {}
    %b = Relu(%x) {}
    %y = Tanh(%b) {}
    output %a, %y
  })");
  RuleCounts counts;
  const absl::Status status = Canonicalize(graph, rules, &counts).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("rule forgets_its_output"));
}

TEST(CanonicalizeTest, IsIdempotent) {
  const Graph graph = Parse(R"(graph {
    input %x: float32[1,4,8]
    const %two: float32[] = [2.0]
    const %e: float32[] = [0.00001]
    const %axes: int64[1] = [-1]
    %m = ReduceMean(%x, %axes) {keepdims=1}
    %d = Sub(%x, %m) {}
    %p = Pow(%d, %two) {}
    %v = ReduceMean(%p, %axes) {keepdims=1}
    %a = Add(%v, %e) {}
    %r = Sqrt(%a) {}
    %y = Div(%d, %r) {}
    output %y
  })");
  RuleCounts counts;
  const Graph once = Canonical(graph, &counts);
  EXPECT_EQ(counts["layer_normalization_from_mean"], 1);
  RuleCounts again;
  const Graph twice = Canonical(once, &again);
  EXPECT_EQ(PrintGraph(once), PrintGraph(twice));
  EXPECT_TRUE(again.empty());
}

// Its last factor could be one of the weights, too.
TEST(CanonicalizeTest, FindsTheGeluInFrontOfAProduct) {
  const Graph graph = Parse(R"(graph {
    input %x: float32[2,4]
    const %root: float32[] = [1.4142135]
    const %one: float32[] = [1.0]
    const %half: float32[] = [0.5]
    const %w: float32[4,3] = synthetic 1
    %q = Div(%x, %root) {}
    %e = Erf(%q) {}
    %a = Add(%e, %one) {}
    %m = Mul(%x, %a) {}
    %g = Mul(%m, %half) {}
    %y = MatMul(%g, %w) {}
    output %y
  })");
  RuleCounts counts;
  EXPECT_EQ(Canonical(graph, &counts).node_count(), 2);
  EXPECT_EQ(counts["gelu_from_erf"], 1);
}

TEST(CanonicalizeTest, KeepsAnOutputThatIsAnInput) {
  const Graph graph = Parse(R"(graph {
    input %x: float32[2]
    %y = Identity(%x) {}
    %z = Relu(%x) {}
    output %y, %z
  })");
  RuleCounts counts;
  const Graph result = Canonical(graph, &counts);
  ASSERT_EQ(result.outputs().size(), 2u);
  EXPECT_EQ(*result.tensor(result.outputs()[1]).name, "z");
}

}  // namespace
}  // namespace plait
