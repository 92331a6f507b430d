#include "optimizer/search/segments.h"

#include <map>
#include <string>

#include <gtest/gtest.h>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/random.h"

namespace plait {
namespace {

// Nodes by what they make. Those with a capital are opaque.
class Nodes {
 public:
  Nodes() { tensors_["x"] = builder_.AddInput(kType, "x"); }

  void Add(const std::string& name, const std::vector<std::string>& inputs) {
    Node node;
    node.op =
        absl::ascii_isupper(static_cast<unsigned char>(name[0])) ? OpKind::kOpaque : OpKind::kSum;
    for (const std::string& input : inputs) node.inputs.push_back(tensors_.at(input));
    tensors_[name] = builder_.AddNode(node, {kType}, {name})[0];
  }
  void Output(const std::string& name) { builder_.AddOutput(tensors_.at(name)); }
  Graph Finish() { return *std::move(builder_).Finish(); }

 private:
  const TensorType kType{DataType::kFloat32, {2}};
  GraphBuilder builder_;
  std::map<std::string, TensorId> tensors_;
};

// "ad|BE|cf": the segments' nodes, in order.
std::string TextOf(const Graph& graph) {
  std::string text;
  for (const Segment& segment : SegmentsOf(graph)) {
    if (!text.empty()) text += "|";
    for (const NodeId node : segment.region.nodes) {
      EXPECT_EQ(segment.is_host, graph.node(node).op == OpKind::kOpaque);
      text += *graph.tensor(graph.node(node).outputs[0]).name;
    }
  }
  return text;
}

TEST(SegmentsTest, AGraphThatIsUnderstoodIsOneIsland) {
  Nodes nodes;
  nodes.Add("a", {"x"});
  nodes.Add("b", {"a"});
  nodes.Output("b");
  EXPECT_EQ(TextOf(nodes.Finish()), "ab");
}

TEST(SegmentsTest, WhatDependsOnNoOpaqueNodeIsOneIsland) {
  Nodes nodes;
  nodes.Add("a", {"x"});
  nodes.Add("B", {"a"});
  nodes.Add("c", {"B"});
  nodes.Add("d", {"x"});
  nodes.Add("E", {"d"});
  nodes.Add("f", {"c", "E"});
  nodes.Output("f");
  EXPECT_EQ(TextOf(nodes.Finish()), "ad|BE|cf");
}

TEST(SegmentsTest, OpaqueNodesComeFirstWhereThatSavesASegment) {
  Nodes nodes;
  nodes.Add("a", {"x"});
  nodes.Add("B", {"x"});
  nodes.Add("c", {"a", "B"});
  nodes.Output("c");
  EXPECT_EQ(TextOf(nodes.Finish()), "B|ac");
}

// A Constant of strings, as it may be, is made where it is read.
TEST(SegmentsTest, AnOpaqueNodeIsBesideTheOpaqueNodesThatReadIt) {
  Nodes nodes;
  nodes.Add("S", {});
  nodes.Add("a", {"x"});
  nodes.Add("B", {"a"});
  nodes.Add("c", {"B"});
  nodes.Add("D", {"c", "S"});
  nodes.Output("D");
  EXPECT_EQ(TextOf(nodes.Finish()), "a|B|c|SD");
}

// Many small graphs: each node is in one segment, behind what it reads.
TEST(SegmentsTest, SegmentsCanBeStitched) {
  Random random(7);
  for (int round = 0; round < 200; ++round) {
    SCOPED_TRACE(round);
    Nodes nodes;
    std::vector<std::string> made = {"x"};
    for (int i = 0; i < 12; ++i) {
      std::vector<std::string> inputs;
      for (int64_t k = random.Integer(1, 3); k > 0; --k) {
        inputs.push_back(made[static_cast<size_t>(random.Integer(0, i))]);
      }
      made.push_back(absl::StrCat(random.Integer(0, 2) == 0 ? "O" : "n", i));
      nodes.Add(made.back(), inputs);
    }
    for (size_t i = 1; i < made.size(); i += 3) nodes.Output(made[i]);
    nodes.Output(made.back());
    const Graph graph = nodes.Finish();
    std::vector<Region> regions;
    std::vector<Graph> pieces;
    size_t count = 0;
    for (const Segment& segment : SegmentsOf(graph)) {
      if (!regions.empty()) {
        EXPECT_NE(segment.is_host, graph.node(regions.back().nodes[0]).op == OpKind::kOpaque)
            << "islands and host segments take turns";
      }
      count += segment.region.nodes.size();
      regions.push_back(segment.region);
      pieces.push_back(ExtractRegion(graph, segment.region));
    }
    EXPECT_EQ(count, static_cast<size_t>(graph.node_count()));
    const absl::StatusOr<Graph> stitched = Stitch(graph, regions, pieces);
    ASSERT_TRUE(stitched.ok()) << stitched.status();
    EXPECT_EQ(stitched->fingerprint(), graph.fingerprint());
  }
}

}  // namespace
}  // namespace plait
