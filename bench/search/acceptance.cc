// Says how often a search would accept a plan that is not faster, how often it sees one that is,
// and whether its intervals hold: `acceptance EQUAL PLANTED MODEL.onnx...` works by the rules of a
// job on the cpu device, and prints a line of JSON for each model. EQUAL times the baseline plan
// is verified beside itself; PLANTED times each it is verified beside a baseline with some kernels
// more, which make that about 3 and 5 % slower:
//
//   accepted          of EQUAL, in which the equal plan was accepted; at most 5 % are promised
//   held              of EQUAL, whose interval holds what a measurement of 15 rounds in two
//                     further loads found; 95 % are promised
//   planted           per gain: the kernels planted, the gain found (median of the trials), and the
//                     trials in which it was accepted; 80 % are promised at 3 %, 95 % at 5 %
//   deviation         the load effect of the device
//
//   cmake --build build --target acceptance && build/acceptance 40 20 build/models/demo.onnx
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/statistics.h"
#include "base/status_macros.h"
#include "bench/search/planted_plans.h"
#include "bench/search/trials.h"
#include "client/loaded_model.h"
#include "client/local_profiler.h"
#include "optimizer/search/load_effect.h"
#include "optimizer/search/verify_candidates.h"

namespace plait {
namespace {

constexpr double kGains[] = {0.03, 0.05};

// One model on the device.
class Subject {
 public:
  Subject(Executor& executor, const KernelCatalog& catalog, const LoadedModel& model)
      : executor_(executor),
        catalog_(catalog),
        verifier_(executor, *model.weights),
        plans_(executor, catalog, model.graph, verifier_) {}

  absl::StatusOr<std::string> Run(int trials, int planted) {
    PLAIT_ASSIGN_OR_RETURN(plan_, plans_.Baseline());
    PLAIT_ASSIGN_OR_RETURN(
        effect_, MeasureLoadEffect({}, executor_.device(), catalog_, profiler_, verifier_, 20));
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
  // By the rules of a job: the result and the candidate's measurement, of all batches, since of two
  // plans all of them decide.
  absl::StatusOr<VerificationResult> Verify(const PlanCandidate& baseline,
                                            CandidateMeasurement* candidate) {
    UnlimitedBudget budget;
    MeasurementLog log;
    PLAIT_ASSIGN_OR_RETURN(
        VerificationResult result,
        VerifyCandidates({baseline, plan_}, {}, {verifier_, budget, log, effect_}));
    *candidate = {};
    for (const std::vector<CandidateMeasurement>& batch : log.verifications()) {
      AddRounds(batch[1], *candidate);
    }
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

  absl::StatusOr<std::string> TryPlanted(double gain, int trials) {
    PLAIT_ASSIGN_OR_RETURN(const int count, plans_.CountFor(gain));
    PLAIT_ASSIGN_OR_RETURN(const PlanCandidate baseline, plans_.Slower(count));
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
  LocalVerifier verifier_;
  PlantedPlans plans_;
  LocalProfiler profiler_{executor_, {}};
  PlanCandidate plan_;
  LoadEffect effect_;
  int accepted_ = 0;
  int held_ = 0;
};

}  // namespace
}  // namespace plait

int main(int argc, char** argv) {
  return plait::TrialsMain(
      "acceptance", argc, argv,
      [](plait::Executor& executor, const plait::KernelCatalog& catalog,
         const plait::LoadedModel& model, plait::TrialCounts counts) {
        return plait::Subject(executor, catalog, model).Run(counts.equal, counts.planted);
      });
}
