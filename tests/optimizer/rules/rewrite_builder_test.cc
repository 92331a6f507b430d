#include "optimizer/rules/patterns/rewrite_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "optimizer/ir/text.h"
#include "optimizer/ops/shared/op_spec.h"

namespace plait {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

Graph Parse(absl::string_view text) {
  absl::StatusOr<Graph> graph = ParseTypedGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *std::move(graph);
}

// Nodes 0 to 2 in a row; an output more when `output` names one.
Graph Chain(absl::string_view output) {
  return Parse(absl::StrCat(R"(graph {
    input %x: float32[2,3]
    %a = Exp(%x) {}
    %b = Neg(%a) {}
    %y = Relu(%b) {}
    output %y)",
                            output, "\n}"));
}

TEST(RewriteBuilderTest, RemovesWhatLosesItsLastReader) {
  const Graph graph = Chain("");
  RewriteBuilder builder(graph);
  const TensorId result = builder.Add(OpKind::kAbs, {}, {graph.inputs()[0]});
  const Rewrites rewrites = builder.Replace(2, result);
  ASSERT_THAT(rewrites, SizeIs(1));
  EXPECT_THAT(rewrites[0].removed, ElementsAre(0, 1, 2));
  EXPECT_TRUE(Apply(graph, rewrites[0]).ok());
}

TEST(RewriteBuilderTest, KeepsOutputsOfTheGraphAndWhatTheyRead) {
  const Graph graph = Chain(", %b");
  RewriteBuilder builder(graph);
  const TensorId result = builder.Add(OpKind::kAbs, {}, {graph.inputs()[0]});
  EXPECT_THAT(builder.Replace(2, result)[0].removed, ElementsAre(2));
}

TEST(RewriteBuilderTest, KeepsWhatAnotherNodeReads) {
  const Graph graph = Parse(R"(graph {
    input %x: float32[2,3]
    %a = Exp(%x) {}
    %b = Neg(%a) {}
    %c = Neg(%b) {}
    %d = Abs(%a) {}
    output %c, %d
  })");
  RewriteBuilder builder(graph);
  EXPECT_THAT(builder.Replace(2, graph.node(0).outputs[0])[0].removed, ElementsAre(1, 2));
}

TEST(RewriteBuilderTest, KeepsWhatTheResultReads) {
  const Graph graph = Chain("");
  RewriteBuilder builder(graph);
  const TensorId result = builder.Add(OpKind::kAbs, {}, {graph.node(1).outputs[0]});
  EXPECT_THAT(builder.Replace(2, result)[0].removed, ElementsAre(2));
  // Also where the result is the node's own operand, or reads what it replaces.
  RewriteBuilder by_operand(graph);
  EXPECT_THAT(by_operand.Replace(2, graph.node(1).outputs[0])[0].removed, ElementsAre(2));
  RewriteBuilder around(graph);
  const TensorId behind = around.Add(OpKind::kAbs, {}, {graph.node(1).outputs[0]});
  EXPECT_THAT(around.Replace(1, behind)[0].removed, IsEmpty());
}

TEST(RewriteBuilderTest, SparesWhatItIsTold) {
  const Graph graph = Chain("");
  RewriteBuilder builder(graph);
  builder.Spare(graph.node(1).outputs[0]);
  const Rewrites rewrites = builder.Replace(2, builder.Add(OpKind::kAbs, {}, {graph.inputs()[0]}));
  EXPECT_THAT(rewrites[0].removed, ElementsAre(2));
  EXPECT_EQ(Apply(graph, rewrites[0])->node_count(), 1);
}

TEST(RewriteBuilderTest, WritesTheLastConstantOfAChainOnly) {
  const Graph graph = Parse(R"(graph {
    input %x: float32[2,3]
    const %c: float32[3] = synthetic 1
    %y = Add(%x, %c) {}
    output %y
  })");
  RewriteBuilder builder(graph);
  const TensorId row = builder.Reshape(graph.node(0).inputs[1], {1, 3});
  const TensorId negated = builder.Fold(OpKind::kNeg, {row});
  const Rewrites rewrites =
      builder.Replace(0, builder.Add(OpKind::kSub, {}, {graph.inputs()[0], negated}));
  ASSERT_THAT(rewrites, SizeIs(1));
  EXPECT_THAT(rewrites[0].constants, SizeIs(1));
  EXPECT_EQ(rewrites[0].added[0].inputs[1], graph.tensor_count());
}

TEST(RewriteBuilderTest, LeavesOutOmittedInputsAtTheEnd) {
  const Graph graph = Chain("");
  RewriteBuilder builder(graph);
  const TensorId bounded =
      builder.Add(OpKind::kClip, {}, {graph.inputs()[0], kNoTensor, kNoTensor});
  EXPECT_THAT(builder.Replace(2, bounded)[0].added[0].inputs, SizeIs(1));
}

TEST(RewriteBuilderTest, GivesNoRewriteAfterAStepThatFailed) {
  const Graph graph = Chain("");
  const TensorId x = graph.inputs()[0];
  RewriteBuilder no_constant(graph);
  const TensorId folded = no_constant.Fold(OpKind::kNeg, {x});
  EXPECT_EQ(folded, kNoTensor);
  EXPECT_THAT(no_constant.Replace(2, no_constant.Add(OpKind::kAdd, {}, {x, folded})), IsEmpty());

  RewriteBuilder no_type(graph);
  EXPECT_THAT(no_type.Replace(2, no_type.Add(OpKind::kMatMul, {}, {x, x})), IsEmpty());

  RewriteBuilder other_type(graph);
  const TensorId transposed = other_type.Add(OpKind::kTranspose, {}, {x});
  EXPECT_THAT(other_type.Replace(2, transposed), IsEmpty());
}

}  // namespace
}  // namespace plait
