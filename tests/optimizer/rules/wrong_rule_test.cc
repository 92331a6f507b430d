// A suite that cannot fail proves nothing: rules that are subtly wrong must be caught, also when a
// golden text would agree with them.
#include <gtest/gtest.h>

#include "optimizer/ops/shared/op_spec.h"
#include "optimizer/rules/patterns/conv_view.h"
#include "optimizer/rules/patterns/rewrite_builder.h"
#include "tests/optimizer/rules/equivalence.h"

namespace plait {
namespace {

Graph ParsedGraph(absl::string_view text) {
  auto graph = ParseTypedGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *std::move(graph);
}

absl::Status CheckRewrite(const Graph& graph, const Rewrites& rewrites) {
  EXPECT_EQ(rewrites.size(), 1u);
  auto after = Apply(graph, rewrites.at(0));
  EXPECT_TRUE(after.ok()) << after.status();
  return CheckEquivalent(graph, *after).status();
}

TEST(WrongRuleTest, DroppingAReluIsCaught) {
  const Graph graph = ParsedGraph(R"(graph {
    input %x: float32[2,3]
    %y = Relu(%x) {}
    output %y
  })");
  EXPECT_FALSE(CheckRewrite(graph, {Rewrite::Replace(graph, 0, graph.inputs()[0])}).ok());
}

TEST(WrongRuleTest, ExchangedMatMulOperandsAreCaught) {
  const Graph graph = ParsedGraph(R"(graph {
    input %x: float32[3,3]
    input %y: float32[3,3]
    %z = MatMul(%x, %y) {}
    output %z
  })");
  RewriteBuilder builder(graph);
  const TensorId exchanged =
      builder.Add(OpKind::kMatMul, {}, {graph.inputs()[1], graph.inputs()[0]});
  EXPECT_FALSE(CheckRewrite(graph, builder.Replace(0, exchanged)).ok());
}

TEST(WrongRuleTest, AShiftThatPassesThroughPaddingIsCaught) {
  // Conv(x + c) = Conv(x) + w * c holds inside, and is wrong where padding adds zeros.
  const Graph graph = ParsedGraph(R"(graph {
    input %x: float32[1,1,5,5]
    const %c: float32[1,1,1,1] = synthetic 1
    const %w: float32[1,1,3,3] = synthetic 2
    %s = Add(%x, %c) {}
    %y = Conv(%s, %w) {pads=[1,1,1,1]}
    output %y
  })");
  const auto conv = ViewConv(graph, 1);
  ASSERT_TRUE(conv);
  RewriteBuilder builder(graph);
  const TensorId product = builder.Fold(OpKind::kMul, {conv->w, graph.node(0).inputs[1]});
  const TensorId weighted = builder.Fold(OpKind::kReduceSum, {product}, {{"keepdims", int64_t{1}}});
  const TensorId plain =
      builder.Add(OpKind::kConv, conv->ToAttributes(), {graph.inputs()[0], conv->w});
  const TensorId shifted = builder.Add(OpKind::kAdd, {}, {plain, weighted});
  EXPECT_FALSE(CheckRewrite(graph, builder.Replace(1, shifted)).ok());
}

TEST(WrongRuleTest, SwappedHalvesOfASplitAreCaught) {
  const Graph graph = ParsedGraph(R"(graph {
    input %x: float32[2,4]
    const %n: int64[2] = [2,2]
    %a, %b = Split(%x, %n) {axis=1}
    output %a, %b
  })");
  RewriteBuilder builder(graph);
  const auto halves =
      builder.AddMany(OpKind::kSplit, {{"axis", int64_t{1}}},
                      std::vector<TensorId>{graph.inputs()[0], graph.node(0).inputs[1]}, 2);
  const std::vector<TensorId> swapped = {halves[1], halves[0]};
  EXPECT_FALSE(CheckRewrite(graph, builder.Replace(0, swapped)).ok());
}

// Two graphs of a sum that is NaN, minus infinity and finite.
absl::Status CompareSums(const std::string& before, const std::string& after) {
  const auto graph = [](const std::string& last) {
    return ParsedGraph(R"(graph {
    input %x: float32[3]
    const %c: float32[3] = [-1.0, 0.0, 1.0]
    %l = Log(%c) {}
    %s = Add(%x, %l) {}
    %y = )" + last +
                       R"( {}
    output %y
  })");
  };
  return CheckEquivalent(graph(before), graph(after), /*exact=*/false).status();
}

TEST(EquivalenceTest, WhatIsNotFiniteMustBeTheSame) {
  EXPECT_TRUE(CompareSums("Identity(%s)", "Add(%l, %x)").ok())
      << CompareSums("Identity(%s)", "Add(%l, %x)");
  // The infinity alone has another sign.
  EXPECT_FALSE(CompareSums("Identity(%s)", "Sub(%x, %l)").ok());
}

TEST(EquivalenceTest, AnInfinityHidesNoError) {
  EXPECT_FALSE(CompareSums("Identity(%s)", "Add(%s, %x)").ok());
}

TEST(EquivalenceTest, NanEverywhereShowsNothing) {
  const Graph graph = ParsedGraph(R"(graph {
    input %x: float32[3]
    const %c: float32[3] = [-1.0, -2.0, -3.0]
    %l = Log(%c) {}
    %y = Add(%x, %l) {}
    output %y
  })");
  EXPECT_FALSE(CheckEquivalent(graph, graph).ok());
}

constexpr char kTwoRelus[] = R"(graph {
    input %x: float32[2,3]
    %a = Relu(%x) {}
    %y = Relu(%a) {}
    output %y
  })";
constexpr char kOneRelu[] = R"(graph {
    input %x: float32[2,3]
    %y = Relu(%x) {}
    output %y
  })";

// True of Relu, not of every function.
TEST(EquivalenceTest, ALawOfOneFunctionIsRefutedInTheField) {
  const auto exact = CheckEquivalent(ParsedGraph(kTwoRelus), ParsedGraph(kOneRelu));
  EXPECT_EQ(std::string(exact.status().message()), "output 0 differs in GF(p)");
  const auto in_float =
      CheckEquivalent(ParsedGraph(kTwoRelus), ParsedGraph(kOneRelu), /*exact=*/false);
  ASSERT_TRUE(in_float.ok()) << in_float.status();
  EXPECT_EQ(*in_float, Exactness::kFloatOnly);
}

TEST(EquivalenceTest, SaysWhetherTheFieldWasUsed) {
  const auto relu = CheckEquivalent(ParsedGraph(kOneRelu), ParsedGraph(kOneRelu));
  ASSERT_TRUE(relu.ok()) << relu.status();
  EXPECT_EQ(*relu, Exactness::kFieldToo);
  constexpr char kSoftmax[] =
      "graph {\n input %x: float32[2,3]\n %y = Softmax(%x) {}\n output %y\n}";
  const auto softmax = CheckEquivalent(ParsedGraph(kSoftmax), ParsedGraph(kSoftmax));
  ASSERT_TRUE(softmax.ok()) << softmax.status();
  EXPECT_EQ(*softmax, Exactness::kFloatOnly);
}

// Functions differ by their operator, their attributes and their bounds.
TEST(EquivalenceTest, TellsUnknownFunctionsApart) {
  const auto graph_of = [](const std::string& node) {
    return ParsedGraph(
        "graph {\n input %x: float32[2,3]\n const %a: float32[] = [-5]\n"
        " const %b: float32[] = [5]\n const %c: float32[] = [6]\n %y = " +
        node + "\n output %y\n}");
  };
  const std::string functions[] = {
      "Abs(%x) {}",      "Elu(%x) {alpha=1.0}", "Elu(%x) {alpha=2.0}", "Clip(%x, %a) {}",
      "Clip(%x, %b) {}", "Clip(%x, %a, %b) {}", "Clip(%x, _, %b) {}",  "Clip(%x, %a, %c) {}"};
  for (const std::string& one : functions) {
    for (const std::string& other : functions) {
      EXPECT_EQ(CheckEquivalent(graph_of(one), graph_of(other)).ok(), one == other)
          << one << " and " << other;
    }
  }
}

}  // namespace
}  // namespace plait
