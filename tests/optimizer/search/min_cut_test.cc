#include "optimizer/search/min_cut.h"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"

namespace plait {
namespace {

struct Edge {
  int from;
  int to;
  int64_t capacity;
};

FlowNetwork NetworkOf(int vertices, const std::vector<Edge>& edges) {
  FlowNetwork network(vertices);
  for (const Edge& edge : edges) network.AddEdge(edge.from, edge.to, edge.capacity);
  return network;
}

// With as many looks as it wants.
int64_t FlowOf(FlowNetwork& network, int source, int sink) {
  int64_t looks = std::numeric_limits<int64_t>::max();
  return network.MaximumFlow(source, sink, looks).value();
}

// Vertex 0 is the source and the last vertex the sink.
TEST(FlowNetworkTest, FindsTheCutThatTheTableNames) {
  struct Case {
    const char* name;
    int vertices;
    std::vector<Edge> edges;
    int64_t flow;
    std::vector<bool> source_side;
  };
  const std::vector<Case> cases = {
      {"one edge", 2, {{0, 1, 7}}, 7, {true, false}},
      {"no way", 3, {{0, 1, 7}, {2, 1, 7}}, 0, {true, true, false}},
      {"against the edge", 2, {{1, 0, 7}}, 0, {true, false}},
      {"edges side by side", 2, {{0, 1, 3}, {0, 1, 4}}, 7, {true, false}},
      {"a loop", 2, {{0, 0, 9}, {0, 1, 2}}, 2, {true, false}},
      {"narrow in the middle", 4, {{0, 1, 9}, {1, 2, 4}, {2, 3, 9}}, 4, {true, true, false, false}},
      // Both edges of the path are minimum cuts; the smaller source side is taken.
      {"two minimum cuts", 3, {{0, 1, 4}, {1, 2, 4}}, 4, {true, false, false}},
      {"the example of min_cut.cc",
       4,
       {{0, 1, 3}, {0, 2, 1}, {1, 2, 1}, {1, 3, 1}, {2, 3, 3}},
       3,
       {true, true, false, false}},
      // The first level graph sends a unit over 1 -> 3 -> 5, which the second has to take back:
      // only 2 can use vertex 3, while 1 has 4.
      {"a step back",
       6,
       {{0, 1, 1}, {0, 2, 1}, {1, 3, 1}, {1, 4, 1}, {2, 3, 1}, {3, 5, 1}, {4, 5, 1}},
       2,
       {true, false, false, false, false, false}},
  };
  for (const Case& test : cases) {
    FlowNetwork network = NetworkOf(test.vertices, test.edges);
    EXPECT_EQ(FlowOf(network, 0, test.vertices - 1), test.flow) << test.name;
    EXPECT_EQ(network.SourceSide(0), test.source_side) << test.name;
  }
}

TEST(FlowNetworkTest, EndsWhenNoCutIsFinite) {
  FlowNetwork network =
      NetworkOf(3, {{0, 1, FlowNetwork::kInfinite}, {1, 2, FlowNetwork::kInfinite}});
  EXPECT_GE(FlowOf(network, 0, 2), FlowNetwork::kInfinite);
}

TEST(FlowNetworkTest, GivesUpWhenNoLooksAreLeft) {
  const std::vector<Edge> edges = {{0, 1, 3}, {0, 2, 1}, {1, 2, 1}, {1, 3, 1}, {2, 3, 3}};
  int64_t plenty = 1000;
  EXPECT_EQ(NetworkOf(4, edges).MaximumFlow(0, 3, plenty), 3);
  const int64_t needed = 1000 - plenty + 1;
  for (int64_t looks = 0; looks < needed; ++looks) {
    int64_t left = looks;
    EXPECT_EQ(NetworkOf(4, edges).MaximumFlow(0, 3, left), std::nullopt) << looks;
    EXPECT_LE(left, 0) << looks;
  }
  int64_t enough = needed;
  EXPECT_EQ(NetworkOf(4, edges).MaximumFlow(0, 3, enough), 3);
  EXPECT_EQ(enough, 1);
}

TEST(FlowNetworkTest, ALongPathDoesNotExhaustTheStack) {
  constexpr int kVertices = 200'000;
  FlowNetwork network(kVertices);
  for (int vertex = 0; vertex + 1 < kVertices; ++vertex) network.AddEdge(vertex, vertex + 1, 5);
  EXPECT_EQ(FlowOf(network, 0, kVertices - 1), 5);
}

TEST(FlowNetworkTest, MinimumCutEqualsTheBestOfAllCuts) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    const int vertices = static_cast<int>(random.Integer(2, 8));
    std::vector<std::array<int64_t, 3>> edges;
    FlowNetwork network(vertices);
    for (int i = 0; i < 3 * vertices; ++i) {
      edges.push_back(
          {random.Integer(0, vertices - 1), random.Integer(0, vertices - 1), random.Integer(0, 9)});
      network.AddEdge(static_cast<int>(edges[i][0]), static_cast<int>(edges[i][1]), edges[i][2]);
    }
    const auto cut_of = [&](const auto& is_first) {
      int64_t capacity = 0;
      for (const auto& [from, to, edge] : edges) {
        if (is_first(from) && !is_first(to)) capacity += edge;
      }
      return capacity;
    };
    int64_t best = std::numeric_limits<int64_t>::max();
    for (int side = 0; side < 1 << vertices; ++side) {
      if ((side & 1) == 0 || (side >> (vertices - 1) & 1) == 1) continue;
      best = std::min(best, cut_of([&](int64_t vertex) { return (side >> vertex & 1) != 0; }));
    }
    EXPECT_EQ(FlowOf(network, 0, vertices - 1), best) << "seed " << seed;
    const std::vector<bool> reached = network.SourceSide(0);
    EXPECT_EQ(cut_of([&](int64_t vertex) { return reached[vertex]; }), best) << "seed " << seed;
  }
}

}  // namespace
}  // namespace plait
