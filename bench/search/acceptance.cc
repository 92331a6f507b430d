// Says how often a search would accept a plan that is not faster, and whether its intervals hold:
// `acceptance TRIALS MODEL.onnx...` verifies the baseline plan of each model beside itself, so many
// times, by the rules of a job on the cpu device, and prints a line of JSON for each model:
//
//   accepted          trials in which the equal plan was accepted; at most 5 % are promised
//   accepted_3, _5    trials in which it would have been, had the baseline been 3 or 5 % slower in
//                     every round: the power to see such a gain
//   held              trials whose interval holds what a measurement of 15 rounds in two further
//                     loads found; 95 % are promised
//   deviation         the load effect of the device
//
//   cmake --build build --target acceptance && build/acceptance 40 build/models/demo.onnx
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "base/status_macros.h"
#include "client/loaded_model.h"
#include "client/local_profiler.h"
#include "gpu_worker/backends/catalogs.h"
#include "gpu_worker/backends/open_executor.h"
#include "gpu_worker/executor/measure_plans.h"
#include "optimizer/search/load_effect.h"
#include "optimizer/search/verify_candidates.h"

namespace plait {
namespace {

// Measures in this process.
class LocalVerifier : public Verifier {
 public:
  LocalVerifier(Executor& executor, const WeightSource& weights)
      : executor_(executor), weights_(weights) {}

  absl::StatusOr<std::vector<CandidateMeasurement>> Verify(
      absl::Span<const PlanCandidate> candidates, const VerificationBatch& batch) override {
    std::vector<CandidatePlan> plans;
    for (const PlanCandidate& candidate : candidates) {
      plans.push_back({&candidate.graph, &candidate.plan});
    }
    MeasureOptions options;
    options.loads = batch.loads;
    options.rounds = batch.rounds;
    options.rounds_min = batch.rounds_min;
    options.time_max = absl::Seconds(batch.seconds_max);
    PLAIT_ASSIGN_OR_RETURN(const auto measured, MeasurePlans(executor_, plans, weights_, options));
    std::vector<CandidateMeasurement> measurements;
    for (const absl::StatusOr<CandidateMeasurement>& measurement : measured) {
      PLAIT_RETURN_IF_ERROR(measurement.status());
      measurements.push_back(*measurement);
    }
    return measurements;
  }

 private:
  Executor& executor_;
  const WeightSource& weights_;
};

// What the trials of one model came to.
struct Counts {
  int accepted = 0;
  int accepted_3 = 0;
  int accepted_5 = 0;
  int held = 0;
};

PairedRounds RoundsOf(const std::vector<double>& before_us, const std::vector<double>& after_us,
                      const CandidateMeasurement& measurement) {
  return {before_us, after_us, measurement.load_rounds};
}

// Whether a baseline that is slower by `gain` would have been beaten.
bool WouldAccept(const VerificationResult& result, const CandidateMeasurement& after, double gain,
                 const LoadEffect& effect) {
  std::vector<double> before_us = result.baseline.latency_us;
  for (double& us : before_us) us *= 1 + gain;
  return EstimateSpeedup(RoundsOf(before_us, after.latency_us, after), effect).certain > 1;
}

absl::Status Try(const PlanCandidate& plan, Verifier& verifier, const LoadEffect& effect,
                 Counts& counts) {
  UnlimitedBudget budget;
  MeasurementLog log;
  PLAIT_ASSIGN_OR_RETURN(const VerificationResult result,
                         VerifyCandidates({plan, plan}, {}, {verifier, budget, log, effect}));
  const CandidateMeasurement& after = log.verifications().back()[1];
  counts.accepted += result.winner != 0;
  counts.accepted_3 += WouldAccept(result, after, 0.03, effect);
  counts.accepted_5 += WouldAccept(result, after, 0.05, effect);
  const Speedup reported =
      EstimateSpeedup(RoundsOf(result.baseline.latency_us, after.latency_us, after), effect);
  PLAIT_ASSIGN_OR_RETURN(const std::vector<CandidateMeasurement> later,
                         verifier.Verify({plan, plan}, {.loads = kLaterLoads,
                                                        .rounds = (kLaterRounds + 1) / kLaterLoads,
                                                        .rounds_min = kLaterRounds}));
  const double found =
      EstimateSpeedup(RoundsOf(later[0].latency_us, later[1].latency_us, later[0]), effect).median;
  counts.held += reported.low <= found && found <= reported.high;
  return absl::OkStatus();
}

absl::Status Run(int trials, const std::vector<std::string>& paths) {
  PLAIT_ASSIGN_OR_RETURN(const std::unique_ptr<Executor> executor, OpenExecutor("cpu", 0));
  PLAIT_ASSIGN_OR_RETURN(const std::unique_ptr<KernelCatalog> catalog,
                         CatalogFor(executor->device()));
  LocalProfiler profiler(*executor, {});
  for (const std::string& path : paths) {
    std::vector<std::string> warnings;
    PLAIT_ASSIGN_OR_RETURN(const LoadedModel model,
                           LoadModel(path, {.ignore_plan = true}, *executor, &warnings));
    LocalVerifier verifier(*executor, *model.weights);
    PLAIT_ASSIGN_OR_RETURN(const LoadEffect effect,
                           MeasureLoadEffect(executor->device(), *catalog, profiler, verifier, 20));
    const PlanCandidate plan = {CandidateId(model.graph, model.plan), model.graph, model.plan};
    Counts counts;
    for (int trial = 0; trial < trials; ++trial) {
      PLAIT_RETURN_IF_ERROR(Try(plan, verifier, effect, counts));
    }
    std::printf(
        "{\"model\": \"%s\", \"trials\": %d, \"accepted\": %d, \"accepted_3\": %d, "
        "\"accepted_5\": %d, \"held\": %d, \"deviation\": %.4f}\n",
        path.c_str(), trials, counts.accepted, counts.accepted_3, counts.accepted_5, counts.held,
        effect.deviation);
    std::fflush(stdout);
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace plait

int main(int argc, char** argv) {
  int trials = 0;
  if (argc < 3 || !absl::SimpleAtoi(argv[1], &trials) || trials < 1) {
    std::fputs("usage: acceptance TRIALS MODEL.onnx...\n", stderr);
    return 2;
  }
  const absl::Status status = plait::Run(trials, {argv + 2, argv + argc});
  if (status.ok()) return 0;
  std::fprintf(stderr, "acceptance: %s\n", status.ToString().c_str());
  return 1;
}
