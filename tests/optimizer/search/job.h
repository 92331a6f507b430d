#pragma once

#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "optimizer/search/optimize.h"
#include "tests/fakes/fake_device.h"
#include "tests/optimizer/search/examples.h"

namespace plait {

inline const Rule* const kRules[] = {&kTanhToPair, &kPairToNeg};

// Expects fractions that grow, and notes the phases and what is predicted, each in its phase.
class NoProgress : public ProgressSink {
 public:
  void OnPhase(absl::string_view phase, double fraction) override {
    EXPECT_GE(fraction, last_fraction) << std::string(phase);
    last_fraction = fraction;
    phases.emplace_back(phase);
  }
  void OnPredicted(double speedup) override {
    predicted.push_back(speedup);
    predicted_in.insert(phases.back());
  }
  double last_fraction = 0;
  std::vector<std::string> phases;
  std::vector<double> predicted;
  std::set<std::string> predicted_in;  // phases
};

// Everything that one job works with; pricing makes the pair 3 % dearer than Tanh, Neg far cheaper.
struct Job {
  explicit Job(int device_threads = 2)
      : device(FakeDevice(device_threads)), catalog(device_threads) {
    profiler.node_us = {{"Tanh", 10}, {"Ceil", 8.6}, {"Floor", 8.6}, {"Neg", 2}};
    options.rules = kRules;
    options.partition = {.leaf_nodes_max = 4, .interval_nodes_max = 8};
    options.engine_version = "test";
  }

  absl::StatusOr<SearchResult> Run(const Graph& graph, Profiler& measures, Verifier& verifies,
                                   Budget& budget) {
    ProfileCache profiles(measures, log);
    const SearchContext context{device, catalog,  profiles, verifies,     budget,
                                log,    progress, {},       other_shapes, is_predicted};
    absl::StatusOr<SearchResult> result = Optimize(graph, options, context);
    profiles_measured = profiles.profiles_measured();
    return result;
  }

  absl::StatusOr<SearchResult> Run(const Graph& graph) {
    UnlimitedBudget forever;
    return Run(graph, profiler, verifier, forever);
  }

  DeviceDescription device;
  FakeCatalog catalog;
  FakeProfiler profiler;
  FakeVerifier verifier;
  MeasurementLog log;
  NoProgress progress;
  SearchOptions options;
  std::vector<Graph> other_shapes;
  bool is_predicted = false;
  int64_t profiles_measured = 0;
};

// The products that a plan runs by kernels of which `matches` is true, by name.
inline std::vector<std::string> ProductsOf(const Graph& graph, const Plan& plan,
                                           bool (*matches)(const Kernel& kernel)) {
  std::vector<std::string> products;
  for (const Step& step : plan.steps) {
    if (!matches(step.kernel)) continue;
    const Node& product = graph.node(step.kernel.nodes.front());
    products.push_back(*graph.tensor(product.outputs[0]).name);
  }
  return products;
}

// Allows a number of batches.
class ShortBudget : public Budget {
 public:
  explicit ShortBudget(int64_t steps) : steps_(steps) {}
  bool Allows(int64_t step) override { return step < steps_; }

 private:
  const int64_t steps_;
};

// Has time, but for one of the questions; -1: for all.
class OneNoBudget : public Budget {
 public:
  explicit OneNoBudget(int refused = -1) : refused_(refused) {}
  bool Allows(int64_t) override { return true; }
  void Reserve(double seconds) override { reserved = seconds; }
  bool HasSeconds(double) override { return asked++ != refused_; }

  double reserved = 0;
  int asked = 0;

 private:
  const int refused_;
};

// Of two searches, which decided the same.
inline void ExpectSame(const SearchResult& a, const SearchResult& b) {
  EXPECT_EQ(a.graph.fingerprint(), b.graph.fingerprint());
  EXPECT_EQ(PrintPlan(a.plan), PrintPlan(b.plan));
  EXPECT_EQ(a.trace, b.trace);
  EXPECT_EQ(a.candidates, b.candidates);
  EXPECT_EQ(a.rules_applied, b.rules_applied);
  EXPECT_EQ(a.speedup.low, b.speedup.low);
  EXPECT_EQ(a.refused, b.refused);
}

}  // namespace plait
