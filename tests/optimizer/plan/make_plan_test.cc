#include "optimizer/plan/make_plan.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/random.h"
#include "tests/fakes/fake_device.h"

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

TEST(MakePlanTest, EveryPolicysPlanPassesTheCheckOnRandomGraphs) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed);
    const Graph graph = RandomGraph(random, static_cast<int>(random.Integer(3, 40)));
    const int threads = static_cast<int>(random.Integer(1, 4));
    const DeviceDescription device = FakeDevice(threads);
    const FakeCatalog catalog(threads);
    MeasurementLog log;
    FakeProfiler profiler;
    ProfileCache db(profiler, log);
    const KernelTableOptions options{device, catalog, db, true};
    std::vector<ProfileQuery> missing;
    const KernelOffers offers(graph, options);
    offers.AppendMissing(/*single_nodes=*/false, &missing);
    ASSERT_TRUE(db.Resolve(missing).ok());
    const KernelTable table = offers.Table();
    for (const CoverWidth width : {CoverWidth::kFastest, CoverWidth::kPart}) {
      const absl::StatusOr<Cover> cover = FindCover(graph, table, {.width = width});
      ASSERT_TRUE(cover.ok()) << cover.status();
      const ScheduleProblem problem =
          MakeScheduleProblem(*cover, {.threads = threads, .streams_max = threads});
      for (const SchedulePolicy* policy : AllPolicies()) {
        const Plan plan =
            MakePlan(graph, *cover, policy->assign(problem), {device.fingerprint, "test", threads});
        const absl::Status status = CheckPlan(plan, graph);
        ASSERT_TRUE(status.ok()) << status << "\nseed " << seed << ", " << policy->name;
        EXPECT_LE(MakespanUs(problem, kPlaitPolicy.assign(problem)),
                  MakespanUs(problem, policy->assign(problem)) + 1e-9)
            << "seed " << seed << ", " << policy->name;
      }
    }
  }
}

}  // namespace
}  // namespace plait
