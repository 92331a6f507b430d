#include "server/search_child/comparing_verifier.h"

#include <gtest/gtest.h>

#include "gpu_worker/backends/catalogs.h"
#include "tests/fakes/fake_device.h"

namespace plait {
namespace {

constexpr char kProduct[] = R"(graph {
  input %x: float32[2,8]
  const %w: float32[8,8] = synthetic 1
  %p = MatMul(%x, %w) {}
  %q = Relu(%p) {}
  output %q
})";

// What it is asked, and plans that it cannot run.
class NotingVerifier : public FakeVerifier {
 public:
  absl::StatusOr<std::vector<CandidateMeasurement>> Verify(
      absl::Span<const PlanCandidate> candidates, const VerificationBatch& batch) override {
    asked.assign(candidates.begin(), candidates.end());
    return FakeVerifier::Verify(candidates, batch);
  }
  absl::StatusOr<std::vector<LayerError>> MeasureErrors(const PlanCandidate&,
                                                        absl::Span<const int> steps) override {
    return std::vector<LayerError>(steps.size(), {.error = 1e-4});
  }
  std::vector<PlanCandidate> asked;
};

TEST(ComparingVerifierTest, RunsGraphsElsewhereAndForgetsTheTimes) {
  DeviceDescription cpu;
  cpu.id = cpu.backend = "cpu";
  cpu.fingerprint = "cpu;_here";
  cpu.instruction_set = "avx2";
  cpu.threads = 2;
  NotingVerifier worker;
  ComparingVerifier verifier(cpu, *CatalogFor(cpu), "test", worker);
  // No worker could run these plans.
  const Graph graph = GraphOf(kProduct);
  const PlanCandidate baseline = {"a", graph, Plan(), 10};
  const PlanCandidate candidate = {"b", graph, Plan(), 5};
  const auto measured = verifier.Verify({baseline, candidate}, {.loads = 1, .rounds = 1});
  ASSERT_TRUE(measured.ok()) << measured.status();
  ASSERT_EQ(worker.asked.size(), 2u);
  for (const PlanCandidate& asked : worker.asked) {
    EXPECT_EQ(asked.plan.device_fingerprint, "cpu;_here");
    EXPECT_EQ(asked.plan.steps.size(), 2u) << "one kernel per node";
    EXPECT_EQ(asked.graph.fingerprint(), graph.fingerprint());
  }
  EXPECT_TRUE(worker.plan_errors.empty());
  ASSERT_EQ(measured->size(), 2u);
  for (const CandidateMeasurement& one : *measured) {
    EXPECT_EQ(one.equivalence.verdict, Verdict::kEquivalent);
    EXPECT_TRUE(one.latency_us.empty() && one.load_rounds.empty() && one.load_ms.empty());
  }
}

// A simulated device runs the plans themselves.
TEST(ComparingVerifierTest, RunsPlansAsTheyAreOnTheDeviceItself) {
  NotingVerifier worker;
  ComparingVerifier verifier(worker);
  const Graph graph = GraphOf(kProduct);
  Plan plan;
  plan.device_fingerprint = "cuda;_simulated";
  const auto measured = verifier.Verify({{"a", graph, plan, 10}}, {.loads = 1, .rounds = 1});
  ASSERT_TRUE(measured.ok()) << measured.status();
  ASSERT_EQ(worker.asked.size(), 1u);
  EXPECT_EQ(worker.asked[0].plan, plan);
  ASSERT_EQ(measured->size(), 1u);
  EXPECT_TRUE(measured->front().latency_us.empty());
  // What a kernel loses there, too.
  const auto errors = verifier.MeasureErrors({"a", graph, plan, 10}, {0});
  ASSERT_TRUE(errors.ok()) << errors.status();
  ASSERT_EQ(errors->size(), 1u);
  EXPECT_EQ(errors->front().error, 1e-4);
}

}  // namespace
}  // namespace plait
