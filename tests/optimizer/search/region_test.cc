#include "optimizer/search/region.h"

#include <string>

#include <gtest/gtest.h>

#include "base/random.h"
#include "optimizer/ir/text.h"
#include "optimizer/search/partition.h"
#include "tests/fakes/fake_device.h"
#include "tests/optimizer/search/examples.h"

namespace plait {
namespace {

std::string NamesOf(const Graph& graph, const std::vector<TensorId>& tensors) {
  std::string text;
  for (const TensorId tensor : tensors) text += "%" + *graph.tensor(tensor).name + " ";
  return text;
}

TEST(RegionTest, ListsTheTensorsThatCrossItsBoundary) {
  const Graph graph = Blocks();
  // %c, %d and %e: %a comes in beside %b, and only %e is read behind it.
  const Region region = MakeRegion(graph, {2, 3, 4});
  EXPECT_EQ(NamesOf(graph, region.inputs), "%b %a ");
  EXPECT_EQ(NamesOf(graph, region.outputs), "%e ");
  const Graph extracted = ExtractRegion(graph, region);
  EXPECT_EQ(PrintGraph(extracted),
            "graph {\n"
            "  input %b: float32[2,8]\n"
            "  input %a: float32[2,8]\n"
            "  %c: float32[2,8] = Tanh(%b) {}\n"
            "  %d: float32[2,8] = Add(%a, %c) {}\n"
            "  %e: float32[2,8] = Relu(%d) {}\n"
            "  output %e\n"
            "}\n");
}

TEST(RegionTest, StitchingPutsAnotherGraphInARegionsPlace) {
  const Graph graph =
      GraphOf("graph {\n input %x: float32[4]\n %a = Tanh(%x) {}\n %y = Exp(%a) {}\n output %y\n}");
  const Region first = MakeRegion(graph, {0});
  const Region second = MakeRegion(graph, {1});
  const Graph abs = GraphOf("graph {\n input %i: float32[4]\n %o = Abs(%i) {}\n output %o\n}");
  const absl::StatusOr<Graph> stitched =
      Stitch(graph, {first, second}, {abs, ExtractRegion(graph, second)});
  ASSERT_TRUE(stitched.ok()) << stitched.status();
  EXPECT_EQ(PrintGraph(*stitched),
            "graph {\n"
            "  input %x: float32[4]\n"
            "  %o: float32[4] = Abs(%x) {}\n"
            "  %y: float32[4] = Exp(%o) {}\n"
            "  output %y\n"
            "}\n");
}

TEST(RegionTest, RefusesTwoOutputsThatBecameOneTensor) {
  const Graph graph = GraphOf(
      "graph {\n input %x: float32[4]\n %a = Tanh(%x) {}\n %b = Tanh(%x) {}\n output %a, %b\n}");
  const Region region = MakeRegion(graph, {0, 1});
  GraphBuilder builder;
  const TensorId x = builder.AddInput(graph.type(0), "x");
  Node node;
  node.op = OpKind::kTanh;
  node.inputs = {x};
  const TensorId once = builder.AddNode(node, {graph.type(0)}, {"t"})[0];
  builder.AddOutput(once);
  builder.AddOutput(once);
  const absl::StatusOr<Graph> merged = std::move(builder).Finish();
  ASSERT_TRUE(merged.ok()) << merged.status();
  const absl::Status status = Stitch(graph, {region}, {*merged}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(std::string(status.message()), "output a lost its name");
  const absl::StatusOr<Graph> joined = Stitch(graph, {region}, {*merged}, OutputNames::kMayJoin);
  ASSERT_TRUE(joined.ok()) << joined.status();
  EXPECT_EQ(joined->outputs()[0], joined->outputs()[1]);
  EXPECT_EQ(*joined->tensor(joined->outputs()[0]).name, "b");
}

TEST(RegionTest, AnInputThatAnOutputPassesOnKeepsItsName) {
  const Graph graph = GraphOf("graph {\n input %x: float32[4]\n %a = Tanh(%x) {}\n output %a\n}");
  const Region region = MakeRegion(graph, {0});
  const Graph passed = GraphOf("graph {\n input %x: float32[4]\n output %x\n}");
  EXPECT_FALSE(Stitch(graph, {region}, {passed}).ok());
  const absl::StatusOr<Graph> joined = Stitch(graph, {region}, {passed}, OutputNames::kMayJoin);
  ASSERT_TRUE(joined.ok()) << joined.status();
  EXPECT_EQ(joined->outputs()[0], joined->inputs()[0]);
  EXPECT_EQ(*joined->tensor(joined->inputs()[0]).name, "x");
}

TEST(RegionTest, StitchingUnchangedRegionsGivesTheSameGraph) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed);
    const Graph graph = RandomAdditions(random, 25);
    const Partition partition = PartitionGraph(graph, {}, {.leaf_nodes_max = 5});
    std::vector<Region> regions;
    std::vector<Graph> parts;
    for (const std::vector<NodeId>& leaf : partition.leaves) {
      regions.push_back(MakeRegion(graph, leaf));
      parts.push_back(ExtractRegion(graph, regions.back()));
    }
    const absl::StatusOr<Graph> stitched = Stitch(graph, regions, parts);
    ASSERT_TRUE(stitched.ok()) << stitched.status();
    EXPECT_EQ(stitched->fingerprint(), graph.fingerprint());
    for (size_t i = 0; i < graph.outputs().size(); ++i) {
      EXPECT_EQ(*stitched->tensor(stitched->outputs()[i]).name,
                *graph.tensor(graph.outputs()[i]).name);
    }
  }
}

TEST(RegionTest, RefusesAReplacementWithAnotherBoundary) {
  const Graph graph = Blocks();
  const Region region = MakeRegion(graph, {0, 1, 2, 3, 4, 5, 6, 7});
  const Graph other = GraphOf(
      "graph {\n input %x: float32[2,8]\n %y = Relu(%x) {}\n %z = Exp(%x) {}\n output %y, %z\n}");
  EXPECT_EQ(Stitch(graph, {region}, {other}).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace plait
