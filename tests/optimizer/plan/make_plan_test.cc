#include "optimizer/plan/make_plan.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/random.h"
#include "tests/fakes/planned_graph.h"

namespace plait {
namespace {

// A random graph of unary and binary operators over one type, with a few views and outputs.
Graph RandomGraph(Random& random, int nodes) {
  std::string text = "graph {\n  input %t0: float32[2,8]\n";
  for (int node = 1; node <= nodes; ++node) {
    const auto any = [&] {
      return "%t" + std::to_string(random.Integer(std::max(0, node - 6), node - 1));
    };
    text += "  %t" + std::to_string(node) + " = ";
    switch (random.Integer(0, 3)) {
      case 0:
        text += "Relu(" + any() + ") {}\n";
        break;
      case 1:
        text += "Flatten(" + any() + ") {axis=1}\n";
        break;
      default:
        text += "Add(" + any() + ", " + any() + ") {}\n";
    }
  }
  text += "  output %t" + std::to_string(nodes) + ", %t" + std::to_string(nodes / 2) + "\n}\n";
  return GraphOf(text);
}

// The same of images, with Concats of as many channels as there may be.
Graph RandomImages(Random& random, int nodes) {
  std::string text = "graph {\n  input %t0: float32[1,3,4,4]\n";
  std::vector<int64_t> channels = {3};
  for (int node = 1; node <= nodes; ++node) {
    const auto any = [&] { return random.Integer(std::max(0, node - 6), node - 1); };
    const int64_t first = any();
    const int64_t second = any();
    const int64_t joined = channels[first] + channels[second];
    const bool joins = random.Integer(0, 1) == 0 && joined < 200;
    text += "  %t" + std::to_string(node) + (joins ? " = Concat(%t" : " = Relu(%t") +
            std::to_string(first) +
            (joins ? ", %t" + std::to_string(second) + ") {axis=1}\n" : ") {}\n");
    channels.push_back(joins ? joined : channels[first]);
  }
  text += "  output %t" + std::to_string(nodes) + ", %t" + std::to_string(nodes / 2) + "\n}\n";
  return GraphOf(text);
}

TEST(MakePlanTest, EveryPolicysPlanPassesTheCheckOnRandomGraphs) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Graph graph = RandomGraph(random, static_cast<int>(random.Integer(3, 40)));
    const int threads = static_cast<int>(random.Integer(1, 4));
    PlansOf(graph, FakeCatalog(threads), FakeDevice(threads));
  }
}

TEST(MakePlanTest, PlansWithPartsPassTheCheckOnRandomImages) {
  int64_t parts = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Graph graph = RandomImages(random, static_cast<int>(random.Integer(3, 40)));
    const int threads = static_cast<int>(random.Integer(1, 4));
    FakeCatalog catalog(threads, /*channels_last=*/true);
    catalog.takes_parts = true;
    if (random.Integer(0, 1) == 0) catalog.family_that_writes_none = "reorder";
    for (const Plan& plan : PlansOf(graph, catalog, FakeDevice(threads))) {
      for (const Value& value : plan.values) parts += value.first_channel >= 0 ? 1 : 0;
    }
  }
  EXPECT_GT(parts, 1000);
}

}  // namespace
}  // namespace plait
