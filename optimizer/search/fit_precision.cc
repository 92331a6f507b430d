#include "optimizer/search/fit_precision.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "optimizer/search/measure_batch.h"
#include "optimizer/search/verification_seconds.h"

// Of a plan of 100 us, 1e-5 is allowed. At no price it runs twelve layers in two planes of digits,
// whose errors are about 1e-5 each, and the outputs are off by 4e-5. Plans that do so in one third
// of the layers only are off by 3e-5, 2e-6 and 1e-6: the first layers are the sensitive ones. At a
// price of 2^k times 100 us per allowed error, k from -16 to 16, the plans predict less error the
// higher k is; the least k whose plan predicts 0.7e-5 is 3. That plan is measured: 0.8e-5, and the
// price stands.

namespace plait {
namespace {

constexpr double kNoLosses = std::numeric_limits<double>::infinity();
constexpr size_t kRegionsMax = 6;
constexpr int kPricesMeasured = 4;
constexpr double kAimed = 0.7;  // of the error that is allowed, by prediction
constexpr double kSensitivityMin = 1e-3;
constexpr int kPriceExponentMax = 16;

// Outputs are compared, and times are of no interest.
constexpr VerificationBatch kFittingBatch = {.loads = 1, .rounds = 3, .rounds_min = 3};

class PrecisionFit {
 public:
  PrecisionFit(const AdmissionContext& context, double rel_error_max, Admissions& admissions,
               std::vector<RankedPlan>& plans, std::string& trace)
      : context_(context),
        rel_error_max_(rel_error_max),
        admissions_(admissions),
        plans_(plans),
        trace_(trace) {}

  absl::Status Run() {
    if (plans_.size() == 1) return absl::OkStatus();
    const RankedPlan best = plans_[1];
    if (LossOf(best.candidate) == 0) return absl::OkStatus();
    PLAIT_RETURN_IF_ERROR(FitPrice(best));
    return PlanAllAnew(best);
  }

 private:
  template <typename Visit>
  void ForEachStep(const PlanCandidate& candidate, Visit visit) const {
    for (const Step& step : candidate.plan.steps) {
      if (step.kernel.nodes.empty() || !context_.catalog.NeedsAdmission(step.kernel)) continue;
      visit(step.kernel);
    }
  }

  // As of independent errors.
  double LossOf(const PlanCandidate& candidate) const {
    double squares = 0;
    ForEachStep(candidate, [&](const Kernel& kernel) {
      const double loss = admissions_.LossOf(candidate.graph, kernel);
      squares += loss * loss;
    });
    return std::sqrt(squares);
  }

  bool HasUnknown(const PlanCandidate& candidate) const {
    bool has_unknown = false;
    ForEachStep(candidate, [&](const Kernel& kernel) {
      has_unknown |= admissions_.Of(candidate.graph, kernel) == Admission::kUnknown;
    });
    return has_unknown;
  }

  // The best plan of a graph at the price that is set, of kernels whose errors are known. Each turn
  // measures some, or refuses all that are not known.
  absl::StatusOr<RankedPlan> PlanOf(const RankedPlan& graph) {
    while (true) {
      PLAIT_ASSIGN_OR_RETURN(std::vector<RankedPlan> anew, context_.plan_anew(graph));
      if (!HasUnknown(anew.front().candidate)) return std::move(anew.front());
      std::vector<RankedPlan> plans = {plans_[0], std::move(anew.front())};
      PLAIT_RETURN_IF_ERROR(AdmitPlans(context_, admissions_, plans, trace_));
    }
  }

  // How far the outputs of each are from the baseline's; none when there is no time.
  absl::StatusOr<std::vector<double>> ErrorsOf(std::vector<PlanCandidate> candidates) {
    candidates.insert(candidates.begin(), plans_[0].candidate);
    const double seconds = SecondsToVerify(candidates, kFittingBatch, context_.given_inputs);
    const bool has_seconds = context_.budget.AllowsTask(seconds) &&
                             context_.budget.HasSeconds(seconds + context_.seconds_reserved);
    context_.log.AddTimeAnswer(has_seconds);
    if (!has_seconds) return std::vector<double>();
    PLAIT_ASSIGN_OR_RETURN(
        const std::vector<CandidateMeasurement> measurements,
        MeasureBatch(candidates, kFittingBatch, context_.verifier, context_.log));
    if (WasEnded(measurements)) return std::vector<double>();
    std::vector<double> errors;
    for (size_t i = 1; i < measurements.size(); ++i) {
      const Equivalence& equivalence = measurements[i].equivalence;
      errors.push_back(measurements[i].error.empty()
                           ? std::max(equivalence.max_rel_error, equivalence.max_channel_error)
                           : kNoLosses);
    }
    return errors;
  }

  absl::Status FitPrice(const RankedPlan& best) {
    RankedPlan plan = best;
    double per_loss = 0;  // of the outputs' error, beside what is predicted
    for (int turn = 0; turn <= kPricesMeasured && LossOf(plan.candidate) > 0; ++turn) {
      PLAIT_ASSIGN_OR_RETURN(const std::vector<double> errors, ErrorsOf({plan.candidate}));
      if (errors.empty()) {
        trace_ += "no time to measure what plans lose\n";
        break;
      }
      absl::StrAppendFormat(&trace_, "a plan of %.6g us loses %.2g, allowed are %.2g\n",
                            plan.planned.predicted_us, errors[0], rel_error_max_);
      if (errors[0] <= rel_error_max_) return absl::OkStatus();
      if (!std::isfinite(errors[0])) break;
      if (turn == 0) PLAIT_RETURN_IF_ERROR(FindSensitivities(best));
      // Half as much again, so that each turn comes nearer.
      per_loss = std::max(errors[0] / LossOf(plan.candidate), 1.5 * per_loss);
      PLAIT_ASSIGN_OR_RETURN(plan, PlanWithin(best, kAimed * rel_error_max_ / per_loss));
    }
    admissions_.SetPrice(kNoLosses);
    return absl::OkStatus();
  }

  // Measures plans that may lose accuracy in one region of layers each, two at a time.
  absl::Status FindSensitivities(const RankedPlan& best) {
    const std::vector<absl::flat_hash_set<Fingerprint>> regions = RegionsOf(best.candidate);
    for (size_t first = 0; first < regions.size(); first += 2) {
      const size_t last = std::min(first + 2, regions.size());
      std::vector<PlanCandidate> candidates;
      for (size_t i = first; i < last; ++i) {
        admissions_.Confine(&regions[i]);
        absl::StatusOr<RankedPlan> plan = PlanOf(best);
        admissions_.Confine(nullptr);
        PLAIT_RETURN_IF_ERROR(plan.status());
        candidates.push_back(std::move(plan->candidate));
      }
      PLAIT_ASSIGN_OR_RETURN(const std::vector<double> errors, ErrorsOf(candidates));
      for (size_t i = 0; i < errors.size(); ++i) {
        const double loss = LossOf(candidates[i]);
        if (loss == 0 || !std::isfinite(errors[i])) continue;
        const double sensitivity = std::max(errors[i] / loss, kSensitivityMin);
        absl::StrAppendFormat(&trace_, "region %d of %d: sensitivity %.2g\n",
                              static_cast<int>(first + i), static_cast<int>(regions.size()),
                              sensitivity);
        for (const Fingerprint& layer : regions[first + i]) {
          admissions_.SetSensitivity(layer, sensitivity);
        }
      }
    }
    return absl::OkStatus();
  }

  // The layers in which the plan loses something, in its order, in parts of about equal numbers.
  std::vector<absl::flat_hash_set<Fingerprint>> RegionsOf(const PlanCandidate& candidate) const {
    std::vector<Fingerprint> layers;
    absl::flat_hash_set<Fingerprint> known;
    ForEachStep(candidate, [&](const Kernel& kernel) {
      if (admissions_.LossOf(candidate.graph, kernel) == 0) return;
      const Fingerprint layer = Admissions::LayerOf(candidate.graph, kernel);
      if (known.insert(layer).second) layers.push_back(layer);
    });
    const size_t count = std::min(kRegionsMax, layers.size());
    std::vector<absl::flat_hash_set<Fingerprint>> regions(count);
    for (size_t i = 0; i < layers.size(); ++i) regions[i * count / layers.size()].insert(layers[i]);
    return regions;
  }

  // The plan at the least price that predicts no larger loss. That price is set.
  absl::StatusOr<RankedPlan> PlanWithin(const RankedPlan& best, double loss_max) {
    const double unit_us = plans_[0].candidate.predicted_us / rel_error_max_;
    int low = -kPriceExponentMax;
    int high = kPriceExponentMax + 1;  // stands for infinity
    while (low < high) {
      const int middle = low + (high - low) / 2;
      admissions_.SetPrice(std::ldexp(unit_us, middle));
      PLAIT_ASSIGN_OR_RETURN(const RankedPlan plan, PlanOf(best));
      if (LossOf(plan.candidate) <= loss_max) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    admissions_.SetPrice(high > kPriceExponentMax ? kNoLosses : std::ldexp(unit_us, high));
    return PlanOf(best);
  }

  // All graphs at the price that is set; then the best one's plans that lose nothing.
  absl::Status PlanAllAnew(const RankedPlan& best) {
    const std::vector<RankedPlan> graphs(plans_.begin() + 1, plans_.end());
    plans_.erase(plans_.begin() + 1, plans_.end());
    for (const RankedPlan& graph : graphs) PLAIT_RETURN_IF_ERROR(AddPlansOf(graph));
    PLAIT_RETURN_IF_ERROR(AdmitPlans(context_, admissions_, plans_, trace_));
    if (!admissions_.AdmitsLosses()) return absl::OkStatus();
    // One of them at least has a place behind the others.
    KeepBest(plans_, std::max(1, context_.candidates_max - 1));
    std::vector<RankedPlan> lossy = std::move(plans_);
    plans_.assign(1, lossy[0]);
    admissions_.SetPrice(kNoLosses);
    PLAIT_RETURN_IF_ERROR(AddPlansOf(best));
    PLAIT_RETURN_IF_ERROR(AdmitPlans(context_, admissions_, plans_, trace_));
    for (size_t i = 1; i < plans_.size() && IsRoom(lossy.size()); ++i) {
      const bool is_known = std::any_of(lossy.begin(), lossy.end(), [&](const RankedPlan& other) {
        return other.candidate.id == plans_[i].candidate.id;
      });
      if (!is_known) lossy.push_back(std::move(plans_[i]));
    }
    plans_ = std::move(lossy);
    return absl::OkStatus();
  }

  bool IsRoom(size_t plans) const {
    return plans <= static_cast<size_t>(std::max(1, context_.candidates_max));
  }

  // A graph that several plans are of is planned once.
  absl::Status AddPlansOf(const RankedPlan& graph) {
    const auto is_of_graph = [&](const RankedPlan& plan) {
      return plan.candidate.graph.fingerprint() == graph.candidate.graph.fingerprint();
    };
    if (std::any_of(plans_.begin() + 1, plans_.end(), is_of_graph)) return absl::OkStatus();
    PLAIT_ASSIGN_OR_RETURN(std::vector<RankedPlan> anew, context_.plan_anew(graph));
    std::move(anew.begin(), anew.end(), std::back_inserter(plans_));
    return absl::OkStatus();
  }

  const AdmissionContext& context_;
  const double rel_error_max_;
  Admissions& admissions_;
  std::vector<RankedPlan>& plans_;
  std::string& trace_;
};

}  // namespace

absl::Status FitPrecision(const AdmissionContext& context, double rel_error_max,
                          Admissions& admissions, std::vector<RankedPlan>& plans,
                          std::string& trace) {
  return PrecisionFit(context, rel_error_max, admissions, plans, trace).Run();
}

double SecondsToFitPrecision(const PlanCandidate& baseline, int given_inputs) {
  const PlanCandidate pair[] = {baseline, baseline};
  return (1 + kPricesMeasured / 2 + static_cast<double>(kRegionsMax) / 2) *
         SecondsToVerify(pair, kFittingBatch, given_inputs);
}

}  // namespace plait
