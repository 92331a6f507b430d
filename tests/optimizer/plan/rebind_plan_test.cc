#include "optimizer/plan/rebind_plan.h"

#include <algorithm>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "base/random.h"
#include "tests/fakes/planned_graph.h"

namespace plait {
namespace {

using testing::HasSubstr;

// A random graph over images, whose batch is written ROWS: unary nodes, sums, joined channels, and
// views of all elements of a row.
std::string RandomText(Random& random, int nodes) {
  std::string text = "graph {\n  input %t0: float32[ROWS,3,4,4]\n";
  std::vector<int64_t> channels = {3};
  for (int node = 1; node <= nodes; ++node) {
    const auto any = [&] { return random.Integer(std::max(0, node - 6), node - 1); };
    const int64_t a = any();
    const int64_t b = any();
    const std::string first = "%t" + std::to_string(a);
    const std::string second = "%t" + std::to_string(b);
    text += "  %t" + std::to_string(node) + " = ";
    channels.push_back(channels[a]);
    if (random.Integer(0, 2) == 0 && channels[a] + channels[b] < 200) {
      text += "Concat(" + first + ", " + second + ") {axis=1}\n";
      channels.back() += channels[b];
    } else if (channels[a] == channels[b] && random.Integer(0, 1) == 0) {
      text += "Add(" + first + ", " + second + ") {}\n";
    } else {
      text += "Relu(" + first + ") {}\n";
    }
  }
  const std::string last = std::to_string(nodes);
  text += "  %flat = Flatten(%t" + last + ") {axis=1}\n  %end = Neg(%flat) {}\n";
  return text + "  output %end, %t" + std::to_string(nodes / 2) + "\n}\n";
}

Graph WithRows(const std::string& text, int rows) {
  return GraphOf(absl::StrReplaceAll(text, {{"ROWS", std::to_string(rows)}}));
}

std::vector<Kernel> KernelsOf(const Plan& plan) {
  std::vector<Kernel> kernels;
  for (const Step& step : plan.steps) kernels.push_back(step.kernel);
  return kernels;
}

std::vector<int> StreamsOf(const Plan& plan) {
  std::vector<int> streams;
  for (const Step& step : plan.steps) streams.push_back(step.stream);
  return streams;
}

TEST(RebindPlanTest, KeepsKernelsAndStreamsAndPlacesTheRestAnew) {
  int64_t parts = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const std::string text = RandomText(random, static_cast<int>(random.Integer(3, 30)));
    const Graph from = WithRows(text, 2);
    const Graph to = WithRows(text, 5);
    const int threads = static_cast<int>(random.Integer(1, 4));
    FakeCatalog catalog(threads, /*channels_last=*/true);
    catalog.takes_parts = true;
    for (const Plan& plan : PlansOf(from, catalog, FakeDevice(threads))) {
      const absl::StatusOr<Plan> rebound = RebindPlan(from, plan, to, catalog);
      ASSERT_TRUE(rebound.ok()) << rebound.status();
      EXPECT_TRUE(CheckPlan(*rebound, to).ok());
      EXPECT_EQ(KernelsOf(*rebound), KernelsOf(plan));
      EXPECT_EQ(StreamsOf(*rebound), StreamsOf(plan));
      EXPECT_EQ(rebound->graph_fingerprint, to.fingerprint().ToString());
      EXPECT_GT(rebound->arena_bytes, plan.arena_bytes);
      for (const Value& value : rebound->values) parts += value.first_channel >= 0 ? 1 : 0;
    }
  }
  EXPECT_GT(parts, 100);
}

// There is one way to place what is chosen.
TEST(RebindPlanTest, GivesThePlanItselfForItsOwnShapes) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Graph graph = WithRows(RandomText(random, 20), 2);
    FakeCatalog catalog(2, /*channels_last=*/true);
    catalog.takes_parts = true;
    for (const Plan& plan : PlansOf(graph, catalog, FakeDevice(2))) {
      const absl::StatusOr<Plan> rebound = RebindPlan(graph, plan, graph, catalog);
      ASSERT_TRUE(rebound.ok()) << rebound.status();
      EXPECT_EQ(PrintPlan(*rebound), PrintPlan(plan));
    }
  }
}

TEST(RebindPlanTest, TakesOtherThreads) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Graph graph = WithRows(RandomText(random, 20), 2);
    const int from = static_cast<int>(random.Integer(1, 4));
    const int to = static_cast<int>(random.Integer(1, 4));
    FakeCatalog catalog(from, /*channels_last=*/true);
    FakeCatalog other(to, /*channels_last=*/true);
    catalog.takes_parts = other.takes_parts = true;
    for (const Plan& plan : PlansOf(graph, catalog, FakeDevice(from))) {
      const absl::StatusOr<Plan> changed = PlanWithThreads(graph, plan, to, other);
      ASSERT_TRUE(changed.ok()) << changed.status();
      EXPECT_TRUE(CheckPlan(*changed, graph).ok());
      EXPECT_EQ(changed->threads, to);
      EXPECT_LE(changed->streams, to);
      ASSERT_EQ(changed->steps.size(), plan.steps.size());
      for (size_t i = 0; i < plan.steps.size(); ++i) {
        Kernel kernel = plan.steps[i].kernel;
        kernel.width = kernel.width == from ? to : std::min(kernel.width, to);
        EXPECT_EQ(changed->steps[i].kernel, kernel);
      }
      if (from == to) {
        EXPECT_EQ(PrintPlan(*changed), PrintPlan(plan));
      }
    }
  }
}

// A kernel that is not offered to all threads keeps as many as it had.
TEST(RebindPlanTest, WidensNoKernelThatIsOfferedToOneThreadOnly) {
  Random random(1);
  const Graph graph = WithRows(RandomText(random, 20), 2);
  const FakeCatalog catalog(1);
  for (const Plan& plan : PlansOf(graph, catalog, FakeDevice(1))) {
    const absl::StatusOr<Plan> changed = PlanWithThreads(graph, plan, 2, catalog);
    ASSERT_TRUE(changed.ok()) << changed.status();
    EXPECT_EQ(changed->threads, 2);
    EXPECT_EQ(KernelsOf(*changed), KernelsOf(plan));
  }
}

constexpr char kGraph[] = R"(graph {
  input %x: float32[2,8]
  const %shape: int64[2] = [4,4]
  %a = Relu(%x) {}
  %b = Neg(%a) {}
  %c = Add(%a, %b) {}
  %y = Reshape(%c, %shape) {}
  output %y
}
)";

// Constants follow from sizes, and may be one at some sizes and two at others.
TEST(RebindPlanTest, TakesOtherConstantsInTheSamePlaces) {
  const Graph from = GraphOf(kGraph);
  const Graph to = GraphOf(absl::StrReplaceAll(kGraph, {{"[2,8]", "[4,8]"}, {"[4,4]", "[8,4]"}}));
  const absl::StatusOr<std::vector<TensorId>> tensors = CorrespondingTensors(from, to);
  ASSERT_TRUE(tensors.ok()) << tensors.status();
  EXPECT_EQ(tensors->at(from.outputs()[0]), to.outputs()[0]);
  EXPECT_EQ(std::count(tensors->begin(), tensors->end(), kNoTensor), 1);
}

TEST(RebindPlanTest, RefusesGraphsOfAnotherStructure) {
  struct Case {
    const char* from;
    const char* to;
    const char* message;
  };
  const std::vector<Case> cases = {
      {"Neg(%a)", "Abs(%a)", "node 1 is Abs in the place of Neg"},
      {"Add(%a, %b)", "Add(%b, %a)", "node 2: tensor 0 is another"},
      {"Add(%a, %b)", "Add(%b, %b)", "node 2: tensor 0 is another"},
      {"Neg(%a)", "Neg(%x)", "node 1: tensor 0 is another"},
      {"float32[2,8]", "float64[2,8]", "the inputs: tensor 0 is another"},
      {"float32[2,8]", "float32[2,4,2]", "the inputs: tensor 0 is another"},
      {"output %y", "output %y, %c", "the outputs: there are 2"},
      {"output %y", "output %c", "it has 3 nodes in the place of 4"},
      {"input %x: float32[2,8]\n", "input %x: float32[2,8]\n  input %z: float32[2,8]\n",
       "the inputs: there are 2"},
  };
  const Graph from = GraphOf(kGraph);
  const FakeCatalog catalog(1);
  const Plan plan = PlansOf(from, catalog, FakeDevice(1)).front();
  for (const Case& test : cases) {
    const Graph to = GraphOf(absl::StrReplaceAll(kGraph, {{test.from, test.to}}));
    const absl::Status status = RebindPlan(from, plan, to, catalog).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << test.to;
    EXPECT_THAT(std::string(status.message()), HasSubstr(test.message)) << test.to;
  }
}

// Of a device that completes variants.
class ChoosingCatalog : public FakeCatalog {
 public:
  static constexpr absl::string_view kChosen = " and this one of them";

  using FakeCatalog::FakeCatalog;
  std::string OfferedVariant(const Kernel& kernel) const override {
    return std::string(absl::StripSuffix(kernel.variant, kChosen));
  }
};

// Offers a less exact variant beside each, as "tf32/auto" is beside "strict/auto".
class LossyCatalog : public FakeCatalog {
 public:
  using FakeCatalog::FakeCatalog;
  std::optional<std::string> LessExact(const Kernel& kernel) const override {
    return kernel.variant + "/less";
  }
  bool NeedsAdmission(const Kernel& kernel) const override {
    return absl::EndsWith(kernel.variant, "/less");
  }
};

TEST(SubstituteKernelsTest, ALessExactVariantThatWasAdmittedStays) {
  const Graph graph = GraphOf(kGraph);
  const LossyCatalog catalog(1);
  Plan plan = PlansOf(graph, FakeCatalog(1), FakeDevice(1)).front();
  plan.steps[0].kernel.variant += "/less";
  Plan copy = plan;
  EXPECT_EQ(SubstituteKernels(graph, catalog, &copy).value(), 0);
  EXPECT_EQ(copy, plan);
}

TEST(SubstituteKernelsTest, ExchangesWhatIsNotOffered) {
  const Graph graph = GraphOf(kGraph);
  const FakeCatalog catalog(1);
  const Plan plan = PlansOf(graph, catalog, FakeDevice(1)).front();
  Plan same = plan;
  EXPECT_EQ(SubstituteKernels(graph, catalog, &same).value(), 0);
  EXPECT_EQ(same, plan);

  Plan other_variant = plan;
  other_variant.steps[0].kernel.variant = "of no size";
  EXPECT_EQ(SubstituteKernels(graph, catalog, &other_variant).value(), 1);
  EXPECT_EQ(other_variant, plan);

  Plan other_family = plan;
  other_family.steps[0].kernel.family = "of no size";
  EXPECT_EQ(SubstituteKernels(graph, catalog, &other_family).value(), 1);
  EXPECT_EQ(other_family, plan);

  Plan chosen = plan;
  chosen.steps[0].kernel.variant += std::string(ChoosingCatalog::kChosen);
  EXPECT_EQ(SubstituteKernels(graph, ChoosingCatalog(1), &chosen).value(), 1);
  EXPECT_EQ(chosen, plan);

  Plan none = plan;
  none.steps[0].kernel.width = 7;
  const absl::Status status = SubstituteKernels(graph, catalog, &none).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("step 0: nothing runs these sizes"));
}

}  // namespace
}  // namespace plait
