#include "optimizer/kernels/strided_view.h"

#include <numeric>

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "optimizer/kernels/format_rules.h"
#include "optimizer/ops/shared/op_spec.h"

namespace plait {
namespace {

constexpr Format kRows = Format::kPlain;
constexpr Format kImage = Format::kChannelsLast;

// Nodes between an input of that shape and the graph's only output.
bool Keeps(absl::string_view shape, absl::string_view nodes, Format from, Format to) {
  const auto graph = ParseTypedGraph(
      absl::StrCat("graph {\n  input %x: float32[", shape, "]\n", nodes, "  output %y\n}"));
  EXPECT_TRUE(graph.ok()) << graph.status();
  std::vector<NodeId> ids(graph->node_count());
  std::iota(ids.begin(), ids.end(), 0);
  return KeepsBytes(*graph, ids, from, to);
}

TEST(KeepsBytesTest, TransposesBetweenImagesAndTokensMoveNothing) {
  constexpr char kToTokens[] = "  %y = Transpose(%x) {perm=[0,2,3,1]}\n";
  EXPECT_TRUE(Keeps("2,3,4,5", kToTokens, kImage, kRows));
  EXPECT_FALSE(Keeps("2,3,4,5", kToTokens, kRows, kRows));
  EXPECT_FALSE(Keeps("2,3,4,5", kToTokens, kImage, kImage));
  constexpr char kToImage[] = "  %y = Transpose(%x) {perm=[0,3,1,2]}\n";
  EXPECT_TRUE(Keeps("2,4,5,3", kToImage, kRows, kImage));
  EXPECT_FALSE(Keeps("2,4,5,3", kToImage, kRows, kRows));
  EXPECT_FALSE(Keeps("2,4,5,3", kToTokens, kRows, kImage));
}

TEST(KeepsBytesTest, AReshapeMayStandBetween) {
  constexpr char kToTokens[] =
      "  const %s: int64[3] = [2,3,-1]\n"
      "  %r = Reshape(%x, %s)\n"
      "  %y = Transpose(%r) {perm=[0,2,1]}\n";
  EXPECT_TRUE(Keeps("2,3,4,5", kToTokens, kImage, kRows));
  EXPECT_FALSE(Keeps("2,3,4,5", kToTokens, kRows, kRows));
  constexpr char kToImage[] =
      "  const %s: int64[4] = [2,3,4,5]\n"
      "  %t = Transpose(%x) {perm=[0,2,1]}\n"
      "  %y = Reshape(%t, %s)\n";
  EXPECT_TRUE(Keeps("2,20,3", kToImage, kRows, kImage));
  EXPECT_FALSE(Keeps("2,20,3", kToImage, kRows, kRows));
  // Channels and pixels become one axis, in which they lie otherwise.
  constexpr char kMixed[] =
      "  const %s: int64[2] = [2,60]\n"
      "  %y = Reshape(%x, %s)\n";
  EXPECT_FALSE(Keeps("2,3,4,5", kMixed, kImage, kRows));
  EXPECT_TRUE(Keeps("2,3,4,5", kMixed, kRows, kRows));
}

TEST(KeepsBytesTest, NumbersStayWhatTheyAre) {
  constexpr char kToTokens[] = "  %y = Transpose(%x) {perm=[0,2,3,1]}\n";
  EXPECT_TRUE(Keeps("2,3,4,5", kToTokens, Format::kF16ChannelsLast, Format::kF16));
  EXPECT_FALSE(Keeps("2,3,4,5", kToTokens, Format::kF16ChannelsLast, kRows));
  EXPECT_FALSE(Keeps("2,3,4,5", kToTokens, kImage, Format::kF16));
  EXPECT_FALSE(Keeps("2,3,4,5", kToTokens, Format::kF16ChannelsLast, Format::kBf16));
}

TEST(KeepsBytesTest, AxesOfOneElementLieAnywhere) {
  constexpr char kHeads[] = "  %y = Transpose(%x) {perm=[0,2,1,3]}\n";
  EXPECT_TRUE(Keeps("1,64,1,32", kHeads, kRows, kRows));
  EXPECT_FALSE(Keeps("1,64,2,32", kHeads, kRows, kRows));
  EXPECT_TRUE(Keeps("1,1,1", "  %y = Transpose(%x)\n", kRows, kRows));
}

TEST(KeepsBytesTest, WhatComputesOrMovesIsNoView) {
  EXPECT_FALSE(Keeps("2,3", "  %y = Relu(%x)\n", kRows, kRows));
  EXPECT_FALSE(Keeps("2,3", "  %y = Transpose(%x)\n", kRows, kRows));
  EXPECT_FALSE(
      Keeps("2,3", "  %a = Identity(%x)\n  %b = Identity(%x)\n  %y = Add(%a, %b)\n", kRows, kRows));
  EXPECT_FALSE(
      Keeps("6", "  const %s: int64[2] = [2,3]\n  %y = Reshape(%x, %s)\n", kImage, kImage));
}

// Every view of an image that a Reshape and a Transpose make, against the addresses.
TEST(KeepsBytesTest, AgreesWithTheAddresses) {
  const std::vector<std::vector<int>> permutations = {{0, 1, 2, 3}, {0, 2, 3, 1}, {0, 3, 1, 2},
                                                      {0, 2, 1, 3}, {2, 3, 0, 1}, {1, 0, 2, 3}};
  for (const Shape& shape : {Shape{2, 3, 4, 5}, Shape{1, 3, 2, 2}, Shape{1, 4, 1, 3}}) {
    const TensorType input{DataType::kFloat32, shape};
    for (const std::vector<int>& order : permutations) {
      TensorType output{DataType::kFloat32, {}};
      for (const int axis : order) output.shape.push_back(shape[axis]);
      const std::string node =
          absl::StrCat("  %y = Transpose(%x) {perm=[", absl::StrJoin(order, ","), "]}\n");
      for (const Format from : {kRows, kImage}) {
        for (const Format to : {kRows, kImage}) {
          const Shape read = StridesOf(input, from);
          const Shape written = StridesOf(output, to);
          bool same = true;
          for (int axis = 0; axis < 4; ++axis) {
            same = same && (output.shape[axis] == 1 || read[order[axis]] == written[axis]);
          }
          EXPECT_EQ(Keeps(absl::StrJoin(shape, ","), node, from, to), same)
              << node << FormatName(from) << " " << FormatName(to);
        }
      }
    }
  }
}

// Queries, keys and values that one product makes lie beside each other in its rows.
TEST(StridedViewTest, PartsAndChoicesBeginFurtherOn) {
  const auto graph = ParseTypedGraph(
      "graph {\n"
      "  input %x: float32[10,1,24]\n"
      "  const %last: int64[] = [-1]\n"
      "  const %shape: int64[4] = [10,1,3,8]\n"
      "  const %far: int64[] = [3]\n"
      "  %a, %b, %c = Split(%x) {axis=2, num_outputs=3}\n"
      "  %r = Reshape(%x, %shape)\n"
      "  %g = Gather(%r, %last) {axis=2}\n"
      "  output %a, %b, %c, %g\n}");
  ASSERT_TRUE(graph.ok()) << graph.status();
  const StridedView rows = ViewOf(graph->type(graph->inputs()[0]), kRows);
  const auto part = ViewThrough(*graph, 0, 1, rows);
  ASSERT_TRUE(part.has_value());
  EXPECT_EQ(part->offset, 8);
  EXPECT_EQ(part->shape, Shape({10, 1, 8}));
  EXPECT_EQ(part->strides[0], 24);
  const auto split = ViewThrough(*graph, 1, 0, rows);
  ASSERT_TRUE(split.has_value());
  const auto chosen = ViewThrough(*graph, 2, 0, *split);
  ASSERT_TRUE(chosen.has_value());
  EXPECT_EQ(chosen->offset, 16);
  EXPECT_EQ(chosen->shape, Shape({10, 1, 8}));
  EXPECT_FALSE(ViewThrough(*graph, 0, 3, rows).has_value());
}

// Nodes between an input of that shape and the graph's only output, as in Keeps.
std::optional<StridedMove> Move(absl::string_view shape, absl::string_view nodes, Format from,
                                Format to) {
  const auto graph = ParseTypedGraph(
      absl::StrCat("graph {\n  input %x: float32[", shape, "]\n", nodes, "  output %y\n}"));
  EXPECT_TRUE(graph.ok()) << graph.status();
  std::vector<NodeId> ids(graph->node_count());
  std::iota(ids.begin(), ids.end(), 0);
  return MoveThrough(*graph, ids, from, to);
}

constexpr char kShuffle[] =
    "  const %apart: int64[5] = [1,2,3,4,5]\n"
    "  const %together: int64[4] = [1,6,4,5]\n"
    "  %r = Reshape(%x, %apart)\n"
    "  %t = Transpose(%r) {perm=[0,2,1,3,4]}\n"
    "  %y = Reshape(%t, %together)\n";

TEST(StridedMoveTest, ShuffledChannelsAreOnePassInEveryFormat) {
  const auto pixels = Move("1,6,4,5", kShuffle, kImage, kImage);
  ASSERT_TRUE(pixels.has_value());
  EXPECT_EQ(pixels->source.shape, Shape({3, 2, 4, 5}));
  EXPECT_EQ(pixels->target.shape, Shape({3, 2, 4, 5}));
  EXPECT_EQ(pixels->source.strides, Shape({1, 3, 30, 6}));
  EXPECT_EQ(pixels->target.strides, Shape({2, 1, 30, 6}));
  const auto to_rows = Move("1,6,4,5", kShuffle, kImage, kRows);
  ASSERT_TRUE(to_rows.has_value());
  EXPECT_EQ(to_rows->source.strides, Shape({1, 3, 30, 6}));
  EXPECT_EQ(to_rows->target.strides, Shape({40, 20, 5, 1}));
}

// Pixels of two by two become channels, or channels such pixels.
TEST(StridedMoveTest, PixelsMayBecomeChannels) {
  const auto move = Move("1,8,3,5",
                         "  const %apart: int64[6] = [1,2,2,2,3,5]\n"
                         "  const %together: int64[4] = [1,2,6,10]\n"
                         "  %r = Reshape(%x, %apart)\n"
                         "  %t = Transpose(%r) {perm=[0,1,4,2,5,3]}\n"
                         "  %y = Reshape(%t, %together)\n",
                         kImage, kRows);
  ASSERT_TRUE(move.has_value());
  EXPECT_EQ(move->source.shape, Shape({2, 3, 2, 5, 2}));
  EXPECT_EQ(move->source.strides, Shape({4, 40, 2, 8, 1}));
  EXPECT_EQ(move->target.strides, Shape({60, 20, 10, 2, 1}));
}

TEST(StridedMoveTest, WhatNeedsTwoPassesOrComputesIsNone) {
  // The pixels of channels-last are mixed with channels on both sides of the Transpose.
  EXPECT_FALSE(Move("2,6,4,5",
                    "  const %apart: int64[2] = [20,12]\n"
                    "  const %together: int64[4] = [2,6,4,5]\n"
                    "  %r = Reshape(%x, %apart)\n"
                    "  %t = Transpose(%r)\n"
                    "  %y = Reshape(%t, %together)\n",
                    kImage, kImage)
                   .has_value());
  EXPECT_FALSE(Move("1,6,4,5", "  %y = Relu(%x)\n", kImage, kImage).has_value());
}

TEST(StridedViewTest, GoesBackToWhereItCameFrom) {
  const auto graph = ParseTypedGraph(
      "graph {\n"
      "  input %x: float32[2,3,5,4]\n"
      "  const %shape: int64[3] = [2,5,12]\n"
      "  %t = Transpose(%x) {perm=[0,2,1,3]}\n"
      "  %y = Reshape(%t, %shape)\n"
      "  output %y\n}");
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto apart = ViewBefore(*graph, 1, ViewOf(graph->output_type(1), kRows));
  ASSERT_TRUE(apart.has_value());
  const auto heads = ViewBefore(*graph, 0, *apart);
  ASSERT_TRUE(heads.has_value());
  EXPECT_EQ(heads->shape, Shape({2, 3, 5, 4}));
  EXPECT_EQ(heads->strides, Shape({60, 4, 12, 1}));
}

}  // namespace
}  // namespace plait
