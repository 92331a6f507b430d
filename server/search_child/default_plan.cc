#include "server/search_child/default_plan.h"

#include <string>
#include <utility>
#include <vector>

#include "base/statistics.h"
#include "optimizer/search/predicted_plan.h"

namespace plait {
namespace {

// For comparing and timing, beside the time that loading takes.
constexpr double kSeconds = 2;
// So many loads that one of them is not what is told.
constexpr VerificationBatch kBatch = {.loads = 3,
                                      .rounds = 5,
                                      .rounds_min = 3,
                                      .seconds_max = kSeconds,
                                      .random_inputs = 1,
                                      .has_given_inputs = false};

// Both plans are loaded, and compared on one input, the first of them twice.
double SecondsFor(const SearchResult& found) {
  const double run_seconds = Median(found.optimized_latency_us) / 1e6;
  return kSeconds + 2 * kBatch.loads * found.load_ms / 1e3 + 20 * run_seconds;
}

}  // namespace

std::optional<DefaultPlanTimes> MeasureDefaultPlan(const SearchResult& found,
                                                   const SearchContext& context,
                                                   const std::string& engine_version) {
  if (!found.improved || !found.islands.empty()) return std::nullopt;
  const double seconds = SecondsFor(found);
  const bool has_time = context.budget.AllowsTask(seconds) && context.budget.HasSeconds(seconds);
  context.log.AddTimeAnswer(has_time);
  if (!has_time) return std::nullopt;
  const absl::StatusOr<PlannedGraph> planned =
      PredictedPlan(found.graph, context.device, context.catalog, engine_version,
                    AdmittedBy(found.plan, found.graph, context.catalog));
  if (!planned.ok()) return std::nullopt;
  const PlanCandidate candidates[] = {
      {CandidateId(found.graph, found.plan), found.graph, found.plan, found.predicted_us},
      {CandidateId(found.graph, planned->plan), found.graph, planned->plan, planned->predicted_us}};
  absl::StatusOr<std::vector<CandidateMeasurement>> answer =
      context.verifier.Verify(candidates, kBatch);
  // The result stands without it, so that no failure of this may take it away. A replay needs an
  // answer all the same.
  std::vector<CandidateMeasurement> measured(2);
  for (CandidateMeasurement& each : measured) each.error = std::string(answer.status().message());
  if (answer.ok() && answer->size() == 2) measured = *std::move(answer);
  for (size_t i = 0; i < 2; ++i) measured[i].candidate = candidates[i].id;
  context.log.AddVerification(measured);
  if (!AreComparable(measured[0], measured[1])) return std::nullopt;
  std::vector<double> ratios;
  for (size_t i = 0; i < measured[0].latency_us.size(); ++i) {
    ratios.push_back(measured[1].latency_us[i] / measured[0].latency_us[i]);
  }
  return DefaultPlanTimes{Median(measured[1].latency_us), Median(ratios)};
}

}  // namespace plait
