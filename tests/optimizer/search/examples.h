#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/random.h"
#include "optimizer/rules/rule.h"
#include "optimizer/search/search_device.h"
#include "tests/fakes/fake_device.h"

namespace plait {

// The rewrite that puts a chain of unary operators in the place of `node`.
Rewrite ReplaceOp(const Graph& graph, NodeId node, const std::vector<OpKind>& ops);

// Rules of the tests claim what the fake device's prices make interesting, not what is true.
extern const Rule kTanhToPair;  // Tanh(x) = Floor(Ceil(x))
extern const Rule kPairToNeg;   // Floor(Ceil(x)) = Neg(x)

// %x -> Tanh -> %y
Graph TanhGraph();

// Two residual blocks of four nodes, one behind the other.
Graph Blocks();

// A random graph of additions, with two outputs.
Graph RandomAdditions(Random& random, int nodes);

// A fake device with its profiles: pricing makes Ceil and Floor, fused, 3 % dearer than the Tanh
// that they replace, and Neg far cheaper.
struct FakeSearch {
  explicit FakeSearch(int threads)
      : description(FakeDevice(threads)),
        catalog(threads),
        profiles(profiler, log),
        device{description, catalog, profiles, {.threads = threads, .streams_max = threads}} {
    profiler.node_us = {{"Tanh", 10}, {"Ceil", 8.6}, {"Floor", 8.6}, {"Neg", 2}};
  }

  DeviceDescription description;
  FakeCatalog catalog;
  FakeProfiler profiler;
  MeasurementLog log;
  ProfileCache profiles;
  SearchDevice device;
};

}  // namespace plait
