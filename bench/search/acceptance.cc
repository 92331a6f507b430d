// Says how often a search would accept a plan that is not faster, how often it sees one that is,
// and whether its intervals hold: `acceptance TRIALS PLANTED MODEL.onnx...` works by the rules of a
// job on the cpu device, and prints a line of JSON for each model. TRIALS times the baseline plan
// is verified beside itself; PLANTED times each it is verified beside a baseline with some kernels
// more, which make that about 3 and 5 % slower:
//
//   accepted          of TRIALS, in which the equal plan was accepted; at most 5 % are promised
//   held              of TRIALS, whose interval holds what a measurement of 15 rounds in two
//                     further loads found; 95 % are promised
//   planted           per gain: the kernels planted, the gain found (median of the trials), and the
//                     trials in which it was accepted; 80 % are promised at 3 %, 95 % at 5 %
//   deviation         the load effect of the device
//
//   cmake --build build --target acceptance && build/acceptance 40 20 build/models/demo.onnx
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/statistics.h"
#include "base/status_macros.h"
#include "bench/search/planted_kernel.h"
#include "client/loaded_model.h"
#include "client/local_profiler.h"
#include "gpu_worker/backends/catalogs.h"
#include "gpu_worker/backends/open_executor.h"
#include "gpu_worker/executor/measure_plans.h"
#include "optimizer/search/load_effect.h"
#include "optimizer/search/plan_graph.h"
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
    options.random_inputs = batch.random_inputs;
    PLAIT_ASSIGN_OR_RETURN(const auto measured, MeasurePlans(executor_, plans, weights_, options));
    std::vector<CandidateMeasurement> measurements;
    for (const absl::StatusOr<CandidateMeasurement>& measurement : measured) {
      PLAIT_RETURN_IF_ERROR(measurement.status());
      measurements.push_back(*measurement);
    }
    return measurements;
  }

  // Only baselines are measured here, which have no such steps.
  absl::StatusOr<std::vector<LayerError>> MeasureErrors(const PlanCandidate& candidate,
                                                        absl::Span<const int>) override {
    return absl::FailedPreconditionError(absl::StrCat(candidate.id, " is not a baseline"));
  }

 private:
  Executor& executor_;
  const WeightSource& weights_;
};

constexpr double kGains[] = {0.03, 0.05};

// One model on the device.
class Subject {
 public:
  Subject(Executor& executor, const KernelCatalog& catalog, const LoadedModel& model)
      : executor_(executor),
        catalog_(catalog),
        graph_(model.graph),
        verifier_(executor, *model.weights) {}

  absl::StatusOr<std::string> Run(int trials, int planted) {
    PLAIT_ASSIGN_OR_RETURN(plan_, PlanOf(graph_));
    PLAIT_ASSIGN_OR_RETURN(
        effect_, MeasureLoadEffect(executor_.device(), catalog_, profiler_, verifier_, 20));
    for (int i = 0; i < trials; ++i) PLAIT_RETURN_IF_ERROR(TryEqual());
    std::string text = absl::StrFormat(
        "\"trials\": %d, \"accepted\": %d, \"held\": %d, \"planted\": [", trials, accepted_, held_);
    for (const double gain : kGains) {
      if (planted == 0) break;
      PLAIT_ASSIGN_OR_RETURN(const std::string found, TryPlanted(gain, planted));
      absl::StrAppend(&text, gain == kGains[0] ? "" : ", ", found);
    }
    return absl::StrFormat("%s], \"deviation\": %.4f", text, effect_.deviation);
  }

 private:
  absl::StatusOr<PlanCandidate> PlanOf(const Graph& graph) {
    const DeviceDescription& device = executor_.device();
    UnlimitedBudget budget;
    BudgetedProfiles budgeted(profiles_, budget, log_);
    SearchDevice search_device{device, catalog_, profiles_, {}};
    search_device.schedule.threads = device.threads;
    PLAIT_ASSIGN_OR_RETURN(
        const PlannedGraph planned,
        PlanBaseline(graph, search_device, {device.fingerprint, "", device.threads}, budgeted));
    return PlanCandidate{CandidateId(graph, planned.plan), graph, planned.plan,
                         planned.predicted_us};
  }

  // By the rules of a job: the result and the candidate's measurement.
  absl::StatusOr<VerificationResult> Verify(const PlanCandidate& baseline,
                                            CandidateMeasurement* candidate) {
    UnlimitedBudget budget;
    MeasurementLog log;
    PLAIT_ASSIGN_OR_RETURN(
        VerificationResult result,
        VerifyCandidates({baseline, plan_}, {}, {verifier_, budget, log, effect_}));
    *candidate = log.verifications().back()[1];
    return result;
  }

  Speedup SpeedupOf(const CandidateMeasurement& before, const CandidateMeasurement& after) const {
    return EstimateSpeedup({before.latency_us, after.latency_us, before.load_rounds}, effect_);
  }

  absl::Status TryEqual() {
    CandidateMeasurement after;
    PLAIT_ASSIGN_OR_RETURN(const VerificationResult result, Verify(plan_, &after));
    accepted_ += result.winner != 0;
    const Speedup reported = SpeedupOf(result.baseline, after);
    PLAIT_ASSIGN_OR_RETURN(
        const std::vector<CandidateMeasurement> later,
        verifier_.Verify({plan_, plan_}, {.loads = kLaterLoads,
                                          .rounds = (kLaterRounds + 1) / kLaterLoads,
                                          .rounds_min = kLaterRounds}));
    const double found = SpeedupOf(later[0], later[1]).median;
    held_ += reported.low <= found && found <= reported.high;
    return absl::OkStatus();
  }

  // The baseline with so many kernels more, behind the node where one takes the longest.
  absl::StatusOr<PlanCandidate> Slower(int count) {
    if (!largest_) {
      std::pair<double, NodeId> largest = {0, 0};
      for (NodeId node = 0; node < graph_.node_count(); ++node) {
        PLAIT_ASSIGN_OR_RETURN(const std::optional<Graph> slower, WithKernelsMore(graph_, node, 1));
        if (!slower) continue;
        PLAIT_ASSIGN_OR_RETURN(const PlanCandidate planted, PlanOf(*slower));
        largest = std::max(largest, {planted.predicted_us, node});
      }
      largest_ = largest.second;
    }
    PLAIT_ASSIGN_OR_RETURN(const std::optional<Graph> slower,
                           WithKernelsMore(graph_, *largest_, count));
    if (!slower) return absl::InvalidArgumentError("the model has no float32 results");
    return PlanOf(*slower);
  }

  // How many kernels make that gain: so many are measured that the noise is small beside what they
  // take, since predictions are no measurements.
  absl::StatusOr<int> CountFor(double gain) {
    constexpr int kTriedMax = 1024;
    constexpr double kFoundMin = 0.1;
    for (int tried = 8;; tried *= 2) {
      PLAIT_ASSIGN_OR_RETURN(const PlanCandidate baseline, Slower(tried));
      PLAIT_ASSIGN_OR_RETURN(
          const std::vector<CandidateMeasurement> measured,
          verifier_.Verify({baseline, plan_}, {.loads = 6, .rounds = 10, .rounds_min = 60}));
      const double found = SpeedupOf(measured[0], measured[1]).median - 1;
      if (found < kFoundMin && tried < kTriedMax) continue;
      return std::max(1, static_cast<int>(std::lround(tried * gain / std::max(found, 1e-3))));
    }
  }

  absl::StatusOr<std::string> TryPlanted(double gain, int trials) {
    PLAIT_ASSIGN_OR_RETURN(const int count, CountFor(gain));
    PLAIT_ASSIGN_OR_RETURN(const PlanCandidate baseline, Slower(count));
    int accepted = 0;
    std::vector<double> gains;
    for (int i = 0; i < trials; ++i) {
      CandidateMeasurement after;
      PLAIT_ASSIGN_OR_RETURN(const VerificationResult result, Verify(baseline, &after));
      accepted += result.winner != 0;
      gains.push_back(SpeedupOf(result.baseline, after).median - 1);
    }
    return absl::StrFormat(
        "{\"wanted\": %.2f, \"kernels\": %d, \"gain\": %.4f, \"trials\": %d, \"accepted\": %d}",
        gain, count, Median(std::move(gains)), trials, accepted);
  }

  Executor& executor_;
  const KernelCatalog& catalog_;
  const Graph& graph_;
  LocalVerifier verifier_;
  LocalProfiler profiler_{executor_, {}};
  MeasurementLog log_;
  ProfileCache profiles_{profiler_, log_};
  PlanCandidate plan_;
  std::optional<NodeId> largest_;  // behind which kernels are planted
  LoadEffect effect_;
  int accepted_ = 0;
  int held_ = 0;
};

absl::Status Run(int trials, int planted, const std::vector<std::string>& paths) {
  PLAIT_ASSIGN_OR_RETURN(const std::unique_ptr<Executor> executor,
                         OpenExecutor("cpu", {.pins_threads = true}));
  PLAIT_ASSIGN_OR_RETURN(const std::unique_ptr<KernelCatalog> catalog,
                         CatalogFor(executor->device()));
  for (const std::string& path : paths) {
    std::vector<std::string> warnings;
    PLAIT_ASSIGN_OR_RETURN(
        const LoadedModel model,
        LoadModel(path, {.ignore_plan = true, .quick = true}, *executor, &warnings));
    PLAIT_ASSIGN_OR_RETURN(const std::string found,
                           Subject(*executor, *catalog, model).Run(trials, planted));
    std::printf("{\"model\": \"%s\", %s}\n", path.c_str(), found.c_str());
    std::fflush(stdout);
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace plait

int main(int argc, char** argv) {
  int trials = 0;
  int planted = 0;
  if (argc < 4 || !absl::SimpleAtoi(argv[1], &trials) || !absl::SimpleAtoi(argv[2], &planted) ||
      trials < 0 || planted < 0) {
    std::fputs("usage: acceptance TRIALS PLANTED MODEL.onnx...\n", stderr);
    return 2;
  }
  const absl::Status status = plait::Run(trials, planted, {argv + 3, argv + argc});
  if (status.ok()) return 0;
  std::fprintf(stderr, "acceptance: %s\n", status.ToString().c_str());
  return 1;
}
