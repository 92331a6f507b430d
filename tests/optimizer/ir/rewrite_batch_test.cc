#include "optimizer/ir/rewrite_batch.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/optimizer/ir/graphs.h"

namespace plait {
namespace {

// The example of rewrite_batch.h.
constexpr char kTwoIdentities[] = R"(  %a: float32[4] = Identity(%x) {}
  %b: float32[4] = Relu(%a) {}
  %c: float32[4] = Exp(%b) {}
  %d: float32[4] = Identity(%c) {}
  %e: float32[4] = Relu(%d) {}
  output %e
)";

// The node goes, and its readers read its input.
Rewrite Skip(const Graph& graph, NodeId node) {
  return Rewrite::Replace(graph, node, graph.node(node).inputs[0]);
}

// A Neg in the place of the node.
Rewrite ToNeg(const Graph& graph, NodeId node) {
  Rewrite rewrite;
  rewrite.removed = {node};
  rewrite.added = {
      {.op = OpKind::kNeg, .inputs = {graph.node(node).inputs[0]}, .output_types = {kFloats}}};
  rewrite.rewired = {{graph.node(node).outputs[0], graph.tensor_count()}};
  return rewrite;
}

std::string AppliedBatch(const Graph& graph, const RewriteBatch& batch) {
  const absl::StatusOr<Graph> result = Apply(graph, batch.rewrites());
  return result.ok() ? PrintGraph(*result) : result.status().ToString();
}

TEST(RewriteBatchTest, AppliesWhatKeepsOutOfEachOthersWay) {
  const Graph graph = GraphOf(AroundX(kTwoIdentities));
  RewriteBatch batch(graph);
  EXPECT_TRUE(batch.Add(Skip(graph, 0)));
  EXPECT_TRUE(batch.Add(Skip(graph, 3)));
  EXPECT_EQ(AppliedBatch(graph, batch), AroundX(R"(  %b: float32[4] = Relu(%x) {}
  %c: float32[4] = Exp(%b) {}
  %e: float32[4] = Relu(%c) {}
  output %e
)"));
}

TEST(RewriteBatchTest, PutsNewNodesInTheirPlaces) {
  const Graph graph = GraphOf(AroundX(R"(  %a: float32[4] = Relu(%x) {}
  %b: float32[4] = Exp(%a) {}
  %c: float32[4] = Abs(%b) {}
  %d: float32[4] = Relu(%c) {}
  %e: float32[4] = Exp(%d) {}
  output %e
)"));
  // In either order.
  for (const std::vector<NodeId>& nodes : {std::vector<NodeId>{0, 3}, {3, 0}}) {
    RewriteBatch batch(graph);
    for (const NodeId node : nodes) EXPECT_TRUE(batch.Add(ToNeg(graph, node)));
    EXPECT_EQ(AppliedBatch(graph, batch), AroundX(R"(  %a: float32[4] = Neg(%x) {}
  %b: float32[4] = Exp(%a) {}
  %c: float32[4] = Abs(%b) {}
  %d: float32[4] = Neg(%c) {}
  %e: float32[4] = Exp(%d) {}
  output %e
)"));
  }
}

TEST(RewriteBatchTest, RefusesWhatMeetsAnother) {
  const Graph graph = GraphOf(AroundX(kTwoIdentities));
  RewriteBatch batch(graph);
  ASSERT_TRUE(batch.Add(ToNeg(graph, 1)));
  EXPECT_FALSE(batch.Add(ToNeg(graph, 1))) << "removed already";
  EXPECT_FALSE(batch.Add(Skip(graph, 0))) << "changes what the first one removes";
  EXPECT_FALSE(batch.Add(ToNeg(graph, 2))) << "removes what the first one changes";
  EXPECT_FALSE(batch.Add(Skip(graph, 3))) << "reads what the first one changes";
  Rewrite reads_removed = ToNeg(graph, 4);
  reads_removed.added[0].inputs = {Find(graph, "b")};
  EXPECT_FALSE(batch.Add(reads_removed));
  EXPECT_EQ(batch.rewrites().size(), 1u);
}

TEST(RewriteBatchTest, TwoMayReadOneNode) {
  const Graph graph = GraphOf(AroundX(R"(  %a: float32[4] = Relu(%x) {}
  %b: float32[4] = Exp(%a) {}
  %c: float32[4] = Abs(%a) {}
  output %b, %c
)"));
  RewriteBatch batch(graph);
  EXPECT_TRUE(batch.Add(ToNeg(graph, 1)));
  EXPECT_TRUE(batch.Add(ToNeg(graph, 2)));
  EXPECT_EQ(AppliedBatch(graph, batch), AroundX(R"(  %a: float32[4] = Relu(%x) {}
  %b: float32[4] = Neg(%a) {}
  %c: float32[4] = Neg(%a) {}
  output %b, %c
)"));
}

// The new node reads %b, which stands behind the place of the removed one.
TEST(RewriteBatchTest, ARewriteThatMovesNodesIsAlone) {
  const Graph graph = GraphOf(AroundX(R"(  %a: float32[4] = Relu(%x) {}
  %b: float32[4] = Neg(%x) {}
  %c: float32[4] = Add(%a, %b) {}
  %d: float32[4] = Relu(%x) {}
  output %c, %d
)"));
  Rewrite moving;
  moving.removed = {0};
  moving.added = {{.op = OpKind::kAbs, .inputs = {Find(graph, "b")}, .output_types = {kFloats}}};
  moving.rewired = {{Find(graph, "a"), graph.tensor_count()}};
  RewriteBatch second(graph);
  EXPECT_TRUE(second.Add(ToNeg(graph, 3)));
  EXPECT_FALSE(second.Add(moving));
  RewriteBatch first(graph);
  EXPECT_TRUE(first.Add(moving));
  EXPECT_FALSE(first.Add(ToNeg(graph, 3)));
  EXPECT_TRUE(Apply(graph, first.rewrites()).ok());
}

TEST(RewriteBatchTest, TakesAWrongRewriteForApplyToRefuse) {
  const Graph graph = GraphOf(AroundX(kTwoIdentities));
  std::vector<Rewrite> wrong(5);
  wrong[0].removed = {-1};
  wrong[1].removed = {5};
  wrong[2].rewired = {{kNoTensor, 0}};
  wrong[3].rewired = {{graph.tensor_count(), 0}};
  wrong[4].rewired = {{0, kNoTensor}};
  for (const Rewrite& rewrite : wrong) {
    RewriteBatch batch(graph);
    EXPECT_TRUE(batch.Add(rewrite));
    EXPECT_FALSE(batch.Add(Skip(graph, 0)));
    EXPECT_TRUE(absl::IsInvalidArgument(Apply(graph, batch.rewrites()).status()));
  }
}

}  // namespace
}  // namespace plait
