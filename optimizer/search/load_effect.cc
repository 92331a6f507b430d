#include "optimizer/search/load_effect.h"

#include <algorithm>

#include "base/status_macros.h"
#include "optimizer/ops/shared/op_spec.h"
#include "optimizer/search/plan_graph.h"
#include "optimizer/search/speedup.h"

namespace plait {
namespace {

// Some milliseconds on two cores, and 8.6 MB of weights: more than a core's own cache, and less
// than the one that cores share.
constexpr absl::string_view kGraph = R"(graph {
  input %x: float32[1,64,28,28]
  input %y: float32[64,1024]
  const %w0: float32[64,64,3,3] = synthetic 1
  const %w1: float32[64,64,3,3] = synthetic 2
  const %w2: float32[64,64,3,3] = synthetic 3
  const %m0: float32[1024,1024] = synthetic 4
  const %m1: float32[1024,1024] = synthetic 5
  %a0: float32[1,64,28,28] = Conv(%x, %w0) {pads=[1,1,1,1]}
  %a1: float32[1,64,28,28] = Relu(%a0)
  %b0: float32[1,64,28,28] = Conv(%a1, %w1) {pads=[1,1,1,1]}
  %b1: float32[1,64,28,28] = Relu(%b0)
  %c0: float32[1,64,28,28] = Conv(%b1, %w2) {pads=[1,1,1,1]}
  %d0: float32[64,1024] = MatMul(%y, %m0)
  %d1: float32[64,1024] = Tanh(%d0)
  %e0: float32[64,1024] = MatMul(%d1, %m1)
  output %c0, %e0
})";

constexpr int kRounds = 5;
constexpr int kLoadsMin = 2;  // that differ

}  // namespace

absl::StatusOr<LoadEffect> MeasureLoadEffect(const LoadEffect& known,
                                             const DeviceDescription& device,
                                             const KernelCatalog& catalog, Profiler& profiler,
                                             Verifier& verifier, double seconds_max) {
  if (known.loads >= kLoadsOfEffect) return known;
  PLAIT_ASSIGN_OR_RETURN(const Graph graph, ParseTypedGraph(kGraph));
  MeasurementLog log;
  ProfileCache profiles(profiler, log);
  UnlimitedBudget budget;
  BudgetedProfiles budgeted(profiles, budget, log);
  const SearchDevice search_device{device, catalog, profiles, ScheduleDeviceOf(device)};
  const PlanBinding binding{device.fingerprint, "", device.threads};
  PLAIT_ASSIGN_OR_RETURN(const PlannedGraph planned,
                         PlanBaseline(graph, search_device, binding, budgeted));
  const PlanCandidate candidate = {CandidateId(graph, planned.plan), graph, planned.plan,
                                   planned.predicted_us};
  const int loads = std::max(kLoadsOfEffect - known.loads, kLoadsMin);
  PLAIT_ASSIGN_OR_RETURN(const std::vector<CandidateMeasurement> measured,
                         verifier.Verify({candidate, candidate}, {.loads = loads,
                                                                  .rounds = kRounds,
                                                                  .rounds_min = 2 * kRounds,
                                                                  .seconds_max = seconds_max}));
  if (measured.size() != 2 || !AreComparable(measured[0], measured[1]) ||
      measured[0].load_rounds.size() < kLoadsMin) {
    return absl::InternalError("the load effect of the device could not be measured");
  }
  return PooledLoadEffect(known, LoadEffectOf({measured[0].latency_us, measured[1].latency_us,
                                               measured[0].load_rounds}));
}

}  // namespace plait
