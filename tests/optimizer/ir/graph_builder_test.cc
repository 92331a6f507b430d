#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "optimizer/ir/graph.h"
#include "tests/optimizer/ir/graphs.h"

namespace plait {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Node NodeOf(OpKind op, absl::InlinedVector<TensorId, 4> inputs) {
  Node node;
  node.op = op;
  node.inputs = std::move(inputs);
  return node;
}

Graph Finished(GraphBuilder builder) {
  absl::StatusOr<Graph> graph = std::move(builder).Finish();
  EXPECT_TRUE(graph.ok()) << graph.status();
  return graph.ok() ? *std::move(graph) : Graph();
}

TEST(GraphTest, IsEmptyByDefault) {
  const Graph graph;
  EXPECT_EQ(graph.node_count(), 0);
  EXPECT_EQ(graph.fingerprint(), Finished(GraphBuilder()).fingerprint());
}

TEST(GraphBuilderTest, DropsDeadNodesAndConstantsButNoInput) {
  GraphBuilder builder;
  const TensorId x = builder.AddInput(kFloats, "x");
  builder.AddInput(kFloats, "unused");
  const TensorId c = builder.AddConstant(Constant::OfSynthetic(kFloats, 1), "c");
  builder.AddConstant(Constant::OfSynthetic(kFloats, 2), "dead");
  builder.AddNode(NodeOf(OpKind::kAdd, {x, c}), {kFloats}, {"dead_sum"});
  const TensorId y = builder.AddNode(NodeOf(OpKind::kRelu, {x}), {kFloats}, {"y"})[0];
  builder.AddOutput(y);
  const Graph graph = Finished(std::move(builder));
  EXPECT_EQ(PrintGraph(graph),
            "graph {\n  input %x: float32[4]\n  input %unused: float32[4]\n"
            "  %y: float32[4] = Relu(%x) {}\n  output %y\n}\n");
  EXPECT_THAT(graph.users(1), IsEmpty());
}

TEST(GraphBuilderTest, MergesEqualConstantsButForOutputs) {
  GraphBuilder builder;
  const TensorId a = builder.AddConstant(Constant::OfSynthetic(kFloats, 1), "a");
  const TensorId b = builder.AddConstant(Constant::OfSynthetic(kFloats, 1), "b");
  const TensorId c = builder.AddConstant(Constant::OfSynthetic(kFloats, 1), "c");
  builder.AddOutput(builder.AddNode(NodeOf(OpKind::kAdd, {a, b}), {kFloats}, {"y"})[0]);
  builder.AddOutput(c);
  const Graph graph = Finished(std::move(builder));
  EXPECT_EQ(graph.node(0).inputs[0], graph.node(0).inputs[1]);
  EXPECT_EQ(Find(graph, "b"), kNoTensor);
  EXPECT_TRUE(graph.is_output(Find(graph, "c")));
  EXPECT_NE(Find(graph, "a"), Find(graph, "c"));
}

TEST(GraphBuilderTest, MakesNamesUnique) {
  GraphBuilder builder;
  const TensorId a = builder.AddInput(kFloats, "x");
  const TensorId b = builder.AddInput(kFloats, "x");
  const TensorId c = builder.AddInput(kFloats, "x_1");
  const TensorId d = builder.AddInput(kFloats, "");
  const TensorId e = builder.AddInput(kFloats, "t0");
  const Graph graph = Finished(std::move(builder));
  std::set<std::string> names;
  for (const TensorInfo& tensor : graph.tensors()) names.insert(*tensor.name);
  EXPECT_EQ(names.size(), 5u);
  EXPECT_EQ(*graph.tensor(a).name, "x");
  EXPECT_EQ(*graph.tensor(b).name, "x_1");
  EXPECT_EQ(*graph.tensor(c).name, "x_1_1");
  EXPECT_EQ(*graph.tensor(d).name, "t1");
  EXPECT_EQ(*graph.tensor(e).name, "t0");
}

TEST(GraphBuilderTest, RenameTakesTheNameFromItsHolder) {
  GraphBuilder builder;
  const TensorId a = builder.AddInput(kFloats, "a");
  const TensorId b = builder.AddInput(kFloats, "b");
  builder.Rename(b, "a");
  builder.Rename(b, "a");
  const TensorId again = builder.AddInput(kFloats, "b");
  const Graph graph = Finished(std::move(builder));
  EXPECT_EQ(*graph.tensor(a).name, "t0");
  EXPECT_EQ(*graph.tensor(b).name, "a");
  EXPECT_EQ(*graph.tensor(again).name, "b");
}

TEST(GraphBuilderTest, SortsTopologicallyWithTheNodeAddedFirstAhead) {
  const Graph graph =
      GraphOf(AroundX("  %late: float32[4] = Neg(%x) {}\n"
                      "  %early: float32[4] = Relu(%x) {}\n"
                      "  %sum: float32[4] = Add(%early, %late) {}\n"
                      "  output %sum\n"));
  ASSERT_EQ(graph.node_count(), 3);
  EXPECT_EQ(graph.node(0).op, OpKind::kNeg);
  EXPECT_EQ(graph.node(1).op, OpKind::kRelu);
  EXPECT_EQ(graph.node(2).op, OpKind::kAdd);
}

TEST(GraphBuilderTest, KeepsInputsThatAreOutputsAndRepeatedOutputs) {
  GraphBuilder builder;
  const TensorId x = builder.AddInput(kFloats, "x");
  builder.AddOutput(x);
  builder.AddOutput(x);
  const Graph graph = Finished(std::move(builder));
  EXPECT_THAT(graph.outputs(), ElementsAre(0, 0));
}

TEST(GraphBuilderTest, KeepsOmittedInputsAndOutputs) {
  GraphBuilder builder;
  const TensorId x = builder.AddInput(kFloats, "x");
  const std::vector<TensorId> outputs = builder.AddNode(
      NodeOf(OpKind::kSplit, {x, kNoTensor}), {TensorType(), kFloats}, {"", "y"}, {true, false});
  EXPECT_EQ(outputs[0], kNoTensor);
  builder.AddOutput(outputs[1]);
  const Graph graph = Finished(std::move(builder));
  EXPECT_EQ(graph.node(0).outputs[0], kNoTensor);
  EXPECT_EQ(graph.producer(0, 1), kNoNode);
  EXPECT_EQ(graph.constant(0, 1), nullptr);
  EXPECT_EQ(graph.constant(0, 2), nullptr);
}

TEST(GraphTest, KnowsUsersAndSingleUses) {
  const Graph graph =
      GraphOf(AroundX("  %a: float32[4] = Relu(%x) {}\n"
                      "  %b: float32[4] = Mul(%a, %a) {}\n"
                      "  %c: float32[4] = Neg(%b) {}\n"
                      "  %d: float32[4] = Add(%c, %x) {}\n"
                      "  output %d\n"));
  EXPECT_THAT(graph.users(Find(graph, "x")), ElementsAre(0, 3));
  EXPECT_THAT(graph.users(Find(graph, "a")), ElementsAre(1));
  EXPECT_FALSE(graph.has_single_use(Find(graph, "a")));
  EXPECT_TRUE(graph.has_single_use(Find(graph, "b")));
  EXPECT_FALSE(graph.has_single_use(Find(graph, "d")));
  EXPECT_EQ(graph.producer(3, 0), 2);
  EXPECT_EQ(graph.producer(3, 1), kNoNode);
}

TEST(GraphTest, CopiesShareEverything) {
  const Graph graph = GraphOf(AroundX("  %a: float32[4] = Relu(%x) {}\n  output %a\n"));
  const Graph copy = graph;
  EXPECT_EQ(copy.nodes().data(), graph.nodes().data());
}

}  // namespace
}  // namespace plait
