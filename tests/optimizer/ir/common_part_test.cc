#include "optimizer/ir/common_part.h"

#include <gtest/gtest.h>

#include "tests/optimizer/ir/graphs.h"

namespace plait {
namespace {

Graph GraphOfNodes(absl::string_view nodes, absl::string_view outputs = "%y") {
  return GraphOf(
      absl::StrCat("graph {\n  input %x: float32[4]", nodes, "\n  output ", outputs, "\n}\n"));
}

constexpr uint8_t kAll = GraphReads::kType | GraphReads::kSource | GraphReads::kUses;

// The worked example of the header.
TEST(CommonPartTest, TellsApartWhatARewriteChanged) {
  const Graph before = GraphOfNodes(R"(
    %a: float32[4] = Relu(%x) {}
    %b: float32[4] = Exp(%a) {}
    %y: float32[4] = Add(%a, %b) {})");
  const Graph after = GraphOfNodes(R"(
    %a: float32[4] = Relu(%x) {}
    %t: float32[4] = Neg(%a) {}
    %y: float32[4] = Add(%a, %t) {})");
  const CommonPart common(NamedGraph(before), after);
  EXPECT_TRUE(common.IsSame(0));
  EXPECT_EQ(common.NodeOf(0), 0);
  EXPECT_FALSE(common.IsSame(1));
  EXPECT_EQ(common.NodeOf(1), kNoNode);
  EXPECT_FALSE(common.IsSame(2));
  EXPECT_EQ(common.NodeOf(2), 2);
  const TensorId x = Find(before, "x");
  const TensorId a = Find(before, "a");
  const TensorId b = Find(before, "b");
  EXPECT_TRUE(common.AreSame(x, kAll));
  EXPECT_TRUE(common.AreSame(a, GraphReads::kType | GraphReads::kSource));
  EXPECT_FALSE(common.AreSame(a, GraphReads::kUses));
  EXPECT_EQ(common.TensorOf(a), Find(after, "a"));
  EXPECT_FALSE(common.AreSame(b, GraphReads::kType));
  EXPECT_TRUE(common.AreSame(Find(before, "y"), kAll));
}

TEST(CommonPartTest, ComparesAttributesConstantsAndTypes) {
  const Graph before = GraphOfNodes(R"(
    const %c: float32[4] = [1,2,3,4]
    const %d: float32[4] = [1,2,3,5]
    %a: float32[4] = LeakyRelu(%x) {alpha=0.5}
    %b: float32[4] = Add(%a, %c) {}
    %y: float32[4] = Add(%b, %d) {})");
  const Graph after = GraphOfNodes(R"(
    const %c: float32[4] = [1,2,3,4]
    const %d: float32[4] = [9,2,3,5]
    %a: float32[4] = LeakyRelu(%x) {alpha=0.25}
    %b: float32[4] = Add(%a, %c) {}
    %y: float32[4] = Add(%b, %d) {})");
  const CommonPart common(NamedGraph(before), after);
  EXPECT_FALSE(common.IsSame(0));
  EXPECT_TRUE(common.IsSame(1));
  EXPECT_TRUE(common.AreSame(Find(before, "c"), kAll));
  EXPECT_FALSE(common.AreSame(Find(before, "d"), GraphReads::kSource));
  EXPECT_TRUE(common.AreSame(Find(before, "d"), GraphReads::kUses));
}

// %a moved behind %b and %c: of the three, the two that kept their order remain.
TEST(CommonPartTest, GivesUpWhatMoved) {
  const Graph before = GraphOfNodes(R"(
    %a: float32[4] = Relu(%x) {}
    %b: float32[4] = Exp(%x) {}
    %c: float32[4] = Neg(%x) {})",
                                    "%a, %b, %c");
  const Graph after = GraphOfNodes(R"(
    %b: float32[4] = Exp(%x) {}
    %c: float32[4] = Neg(%x) {}
    %a: float32[4] = Relu(%x) {})",
                                   "%a, %b, %c");
  const CommonPart common(NamedGraph(before), after);
  EXPECT_EQ(common.NodeOf(0), kNoNode);
  EXPECT_EQ(common.NodeOf(1), 0);
  EXPECT_EQ(common.NodeOf(2), 1);
  EXPECT_FALSE(common.AreSame(Find(before, "x"), GraphReads::kUses));
}

TEST(GraphReadsTest, NotesWhatIsAskedFor) {
  const Graph graph = GraphOfNodes(R"(
    %a: float32[4] = Relu(%x) {}
    %y: float32[4] = Exp(%a) {})");
  GraphReads reads(graph.node_count(), graph.tensor_count());
  const Graph watched = graph.Watched(&reads);
  const TensorId a = watched.node(0).outputs[0];
  EXPECT_EQ(reads.nodes(), absl::Span<const NodeId>({0}));
  EXPECT_TRUE(reads.tensors().empty());
  watched.type(a);
  EXPECT_EQ(reads.PartsOf(a), GraphReads::kType);
  watched.tensor(a);
  EXPECT_EQ(reads.PartsOf(a), GraphReads::kType | GraphReads::kSource);
  EXPECT_TRUE(watched.has_single_use(a));
  EXPECT_EQ(reads.PartsOf(a), kAll);
  EXPECT_EQ(reads.nodes(), absl::Span<const NodeId>({0, 1}));
  EXPECT_TRUE(watched.has_node(1));
  EXPECT_FALSE(reads.is_whole());
  EXPECT_FALSE(watched.has_node(2));
  EXPECT_TRUE(reads.is_whole());
  reads.Clear();
  EXPECT_FALSE(reads.is_whole());
  EXPECT_EQ(reads.PartsOf(a), 0);
  EXPECT_TRUE(reads.nodes().empty());
  EXPECT_EQ(watched.node_count(), 2);
  EXPECT_TRUE(reads.is_whole());
}

}  // namespace
}  // namespace plait
