#include "optimizer/search/verify_candidates.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/statistics.h"
#include "base/status_macros.h"
#include "optimizer/cost/measuring_rules.h"
#include "optimizer/search/measure_batch.h"
#include "optimizer/search/verification_seconds.h"

// Six candidates of a model that runs for 4 ms: base 1 2, base 3 4 and base 5 6 run for five rounds
// each, then the best two of all, say base 1 4, for five more. Candidate 4 has the best median of
// its ten ratios; base 4 runs for 6 loads of 12 rounds, and these decide. A model that runs for
// 0.4 s and has a gigabyte of weights takes too long for that: the candidate that was predicted
// best is the finalist, and runs for as many rounds as there are seconds for, in five loads of 3
// at least.
//
// The best of six is lucky as well as good; what made it the finalist therefore counts for nothing
// in what is accepted and reported.

namespace plait {
namespace {

// What is tried after seconds that are not left: close enough to use most of those that are.
constexpr double kLessSeconds = 0.75;

// True for a candidate whose samples are worth comparing.
bool IsUsable(const CandidateMeasurement& measurement, const CandidateMeasurement& baseline,
              bool accept_inconclusive) {
  return measurement.error.empty() && IsAccepted(measurement.equivalence, accept_inconclusive) &&
         AreComparable(baseline, measurement);
}

// True unless it is known already that the candidate may not win: another input may prove more.
bool MayWin(const CandidateMeasurement& measurement, const CandidateMeasurement& baseline) {
  return measurement.error.empty() && measurement.equivalence.verdict != Verdict::kDifferent &&
         AreComparable(baseline, measurement);
}

class Verification {
 public:
  Verification(absl::Span<const PlanCandidate> candidates, const VerificationOptions& options,
               const VerificationContext& context)
      : candidates_(candidates), options_(options), context_(context) {}

  absl::StatusOr<VerificationResult> Run() {
    if (candidates_.size() > 1) {
      seconds_to_decide_ = SecondsToDecide(candidates_[0], candidates_[1], options_);
      seconds_ahead_ = SecondsAhead();
      if (HasSeconds(seconds_to_decide_)) {
        PLAIT_RETURN_IF_ERROR(ChooseFinalist());
        if (!is_overdue_) PLAIT_RETURN_IF_ERROR(Decide());
        result_.task_too_long = is_overdue_;
      } else if (context_.budget.AllowsTask(seconds_to_decide_)) {
        result_.seconds_needed = seconds_to_decide_;
      } else {
        result_.task_too_long = true;
      }
    }
    // Nothing was compared: a report needs the baseline's times all the same.
    if (result_.baseline.latency_us.empty()) {
      PLAIT_RETURN_IF_ERROR(MeasureBaseline());
    }
    result_.candidates_measured = static_cast<int>(measured_.size());
    CollectTimes();
    CollectRefusals();
    return std::move(result_);
  }

 private:
  double SecondsOf(absl::Span<const PlanCandidate> candidates,
                   const VerificationBatch& batch) const {
    return SecondsToVerify(candidates, batch, options_.given_inputs);
  }

  // All rounds that decide.
  double SecondsOfAllRounds() const {
    const PlanCandidate pair[] = {candidates_[0], candidates_[1]};
    return SecondsOf(pair, {.loads = options_.loads_final, .rounds = options_.rounds_final});
  }

  // For one batch after the other, of which deciding takes the longest.
  bool HasSeconds(double seconds) {
    return HasSeconds(seconds, std::min(seconds, seconds_to_decide_));
  }

  // The same, for what takes `at_once` of them in one batch.
  bool HasSeconds(double seconds, double at_once) {
    const bool has_seconds =
        context_.budget.AllowsTask(at_once) && context_.budget.HasSeconds(seconds);
    context_.log.AddTimeAnswer(has_seconds);
    return has_seconds;
  }

  // The baseline's measurement first, then those of the others; sets is_overdue_ when the batch was
  // ended, and none of them ran.
  absl::StatusOr<std::vector<CandidateMeasurement>> Measure(const std::vector<int>& chosen,
                                                            const VerificationBatch& batch) {
    std::vector<PlanCandidate> candidates;
    for (const int index : chosen) candidates.push_back(candidates_[index]);
    TellFraction();
    PLAIT_ASSIGN_OR_RETURN(std::vector<CandidateMeasurement> measurements,
                           MeasureBatch(candidates, batch, context_.verifier, context_.log));
    seconds_behind_ += std::min(SecondsOf(candidates, batch), batch.seconds_max);
    is_overdue_ = WasEnded(measurements);
    if (is_overdue_) return measurements;
    measured_.insert(chosen.begin() + 1, chosen.end());
    const CandidateMeasurement& baseline = measurements.front();
    if (AreComparable(baseline, baseline)) return measurements;
    return absl::InternalError(
        absl::StrCat("the original model did not run on the device: ",
                     baseline.error.empty() ? "no samples" : baseline.error));
  }

  // As often as there is time for, and three times in any case, also on a machine that became
  // slower than what was profiled on it. That a plan equals itself takes no more than one random
  // input, and one that the user gave may be wrong.
  absl::Status MeasureBaseline() {
    VerificationBatch batch = {.rounds = options_.rounds_final,
                               .seconds_max = options_.final_seconds_least,
                               .random_inputs = 1};
    const double seconds = SecondsOf(candidates_.first(1), batch);
    if (!HasSeconds(std::min(seconds, batch.seconds_max))) batch.rounds = batch.rounds_min;
    absl::StatusOr<std::vector<CandidateMeasurement>> alone = Measure({0}, batch);
    if (absl::IsDeadlineExceeded(alone.status()) && batch.rounds > batch.rounds_min) {
      batch.rounds = batch.rounds_min;
      alone = Measure({0}, batch);
    }
    PLAIT_RETURN_IF_ERROR(alone.status());
    result_.baseline = std::move(alone->front());
    result_.optimized = result_.baseline;
    return absl::OkStatus();
  }

  // One input finds most of what is wrong, and the others are for whoever is returned.
  VerificationBatch BatchToChoose() const {
    return {.rounds = options_.rounds_choosing, .random_inputs = 1, .has_given_inputs = false};
  }

  // Runs the baseline and some candidates, if there is time; false when there is not.
  absl::StatusOr<bool> Compare(const std::vector<int>& chosen) {
    const VerificationBatch batch = BatchToChoose();
    std::vector<PlanCandidate> candidates;
    for (const int index : chosen) candidates.push_back(candidates_[index]);
    choosing_seconds_ += SecondsOf(candidates, batch);
    if (choosing_seconds_ > options_.choosing_seconds_max ||
        !HasSeconds(SecondsOf(candidates, batch) + seconds_to_decide_)) {
      return false;
    }
    PLAIT_ASSIGN_OR_RETURN(const std::vector<CandidateMeasurement> measurements,
                           Measure(chosen, batch));
    if (is_overdue_) return false;
    for (size_t i = 1; i < chosen.size(); ++i) {
      Refusal& refusal = Refuse(chosen[i], measurements[0], measurements[i]);
      if (!MayWin(measurements[i], measurements[0])) {
        unusable_.insert(chosen[i]);
        continue;
      }
      refusal.reason = RefusalReason::kNotChosen;
      for (size_t round = 0; round < measurements[i].latency_us.size(); ++round) {
        ratios_[chosen[i]].push_back(measurements[0].latency_us[round] /
                                     measurements[i].latency_us[round]);
      }
    }
    TellBest();
    return true;
  }

  // Of all that verification is likely to take.
  double SecondsAhead() const {
    const double choosing = candidates_.size() > 2 ? SecondsOf(candidates_, BatchToChoose()) : 0;
    return std::min(choosing, options_.choosing_seconds_max) +
           std::max(seconds_to_decide_, std::min(SecondsOfAllRounds(), options_.final_seconds_max));
  }

  void TellFraction() const {
    if (context_.progress == nullptr || seconds_ahead_ <= 0) return;
    const double left = std::max(0.0, seconds_ahead_ - seconds_behind_);
    const double done = seconds_behind_ / (seconds_behind_ + left);
    context_.progress->OnFraction(kVerificationFraction + (1 - kVerificationFraction) * done, left);
  }

  void TellMeasured(double speedup) {
    if (context_.progress == nullptr || speedup == told_speedup_) return;
    told_speedup_ = speedup;
    context_.progress->OnMeasured(speedup);
  }

  void TellBest() {
    double best = 0;
    for (const auto& [index, ratios] : ratios_) best = std::max(best, Median(ratios));
    if (best > 0) TellMeasured(best);
  }

  // Candidates that may still win: those that ran, the fastest first, then the others as predicted.
  std::vector<int> Ranked() const {
    std::vector<std::pair<double, int>> ranked;
    for (int i = 1; i < static_cast<int>(candidates_.size()); ++i) {
      const auto ratios = ratios_.find(i);
      if (unusable_.contains(i)) continue;
      ranked.emplace_back(ratios == ratios_.end() ? 0 : -Median(ratios->second), i);
    }
    std::sort(ranked.begin(), ranked.end());
    std::vector<int> order;
    for (const auto& [rank, index] : ranked) order.push_back(index);
    return order;
  }

  absl::Status ChooseFinalist() {
    const auto count = static_cast<int>(candidates_.size());
    // Of two there is nothing to choose.
    if (count == 2) return absl::OkStatus();
    for (int first = 1; first < count; first += 2) {
      std::vector<int> chosen = {0, first};
      if (first + 1 < count) chosen.push_back(first + 1);
      PLAIT_ASSIGN_OR_RETURN(const bool was_measured, Compare(chosen));
      if (!was_measured) return absl::OkStatus();
    }
    // The best of different batches have not met yet.
    const std::vector<int> best = Ranked();
    if (count == 3 || best.size() < 2) return absl::OkStatus();
    return Compare({0, best[0], best[1]}).status();
  }

  // See VerificationOptions::final_seconds_least.
  double FinalSeconds() {
    const double all = SecondsOfAllRounds();
    double seconds = options_.final_seconds_max;
    for (; seconds > options_.final_seconds_least; seconds *= kLessSeconds) {
      if (kLessSeconds * seconds < all && HasSeconds(seconds, /*at_once=*/seconds)) return seconds;
    }
    return options_.final_seconds_least;
  }

  // What is told of a candidate unless it wins. Replaces what was told of it before.
  Refusal& Refuse(int index, const CandidateMeasurement& baseline,
                  const CandidateMeasurement& measurement, int looks = 1) {
    return refusals_[index] =
               RefusalOf({candidates_[0], baseline}, {candidates_[index], measurement},
                         options_.rel_error_max, context_.load_effect, looks);
  }

  void CollectTimes() {
    for (const auto& [index, refusal] : refusals_) {
      if (refusal.latency_us == 0) continue;
      result_.plan_times.push_back({index, refusal.predicted_us, refusal.predicted_speedup,
                                    refusal.latency_us, refusal.speedup, index == result_.winner});
    }
  }

  // Beside a winner, that others were not chosen needs no word.
  void CollectRefusals() {
    for (auto& [index, refusal] : refusals_) {
      const bool is_told =
          result_.winner == 0 || (index != result_.winner && unusable_.contains(index));
      if (is_told) result_.refused.push_back(std::move(refusal));
    }
    SortRefusals(result_.refused);
  }

  bool IsRightElsewhere(int finalist) const {
    return context_.is_right_elsewhere == nullptr ||
           context_.is_right_elsewhere(finalist, seconds_to_decide_);
  }

  double SecondsOfFinal(const VerificationBatch& batch) const {
    return std::min(SecondsOfAllRounds(), batch.seconds_max);
  }

  // How often the rounds of such a batch may be looked at, taking as many more each time. Asked
  // before there are any: what these show must not decide it.
  int LooksAtMost(double seconds_of_batch) {
    int looks = options_.looks_max;
    while (looks > 1 && !HasSeconds(looks * seconds_of_batch, seconds_of_batch)) --looks;
    return looks;
  }

  absl::Status Decide() {
    const VerificationBatch batch = {options_.loads_final, options_.rounds_final,
                                     options_.rounds_min, FinalSeconds()};
    const int looks = LooksAtMost(SecondsOfFinal(batch));
    bool is_first = true;
    for (const int finalist : Ranked()) {
      if (!is_first && !HasSeconds(seconds_to_decide_)) return absl::OkStatus();
      is_first = false;
      if (!IsRightElsewhere(finalist)) continue;
      PLAIT_ASSIGN_OR_RETURN(std::vector<CandidateMeasurement> measurements,
                             Measure({0, finalist}, batch));
      if (is_overdue_) return absl::OkStatus();
      result_.baseline = measurements[0];
      result_.optimized = measurements[0];
      if (IsUsable(measurements[1], measurements[0], options_.accept_inconclusive)) {
        // Judging a second one would double the chance of accepting what is slower.
        return Judge(finalist, batch, looks, std::move(measurements));
      }
      Refuse(finalist, measurements[0], measurements[1]);
      unusable_.insert(finalist);
    }
    return absl::OkStatus();
  }

  // Looks at the rounds, and takes as many again, until the finalist is certainly faster or does
  // not seem so any more.
  absl::Status Judge(int finalist, VerificationBatch batch, int looks,
                     std::vector<CandidateMeasurement> measurements) {
    // Outputs are compared once.
    batch.random_inputs = 1;
    batch.has_given_inputs = false;
    const double seconds = SecondsOfFinal(batch);
    for (int look = 1;; ++look) {
      const Speedup speedup = Look(finalist, looks, measurements);
      if (look == looks || !IsWorthAnotherLook(speedup) || !HasSeconds(seconds)) {
        return absl::OkStatus();
      }
      seconds_ahead_ = seconds_behind_ + seconds;
      PLAIT_ASSIGN_OR_RETURN(const std::vector<CandidateMeasurement> more,
                             Measure({0, finalist}, batch));
      if (std::exchange(is_overdue_, false)) return absl::OkStatus();
      if (!MayWin(more[1], more[0])) {
        Refuse(finalist, more[0], more[1]);
        unusable_.insert(finalist);
        return absl::OkStatus();
      }
      for (size_t i = 0; i < more.size(); ++i) AddRounds(more[i], measurements[i]);
    }
  }

  // Lets all rounds so far decide.
  Speedup Look(int finalist, int looks, const std::vector<CandidateMeasurement>& measurements) {
    result_.baseline = measurements[0];
    result_.optimized = measurements[0];
    Refuse(finalist, measurements[0], measurements[1], looks).reason = RefusalReason::kNotFaster;
    const PairedRounds rounds = {measurements[0].latency_us, measurements[1].latency_us,
                                 measurements[0].load_rounds};
    if (rounds.load_rounds.size() > 1) result_.load_effect = LoadEffectOf(rounds);
    const Speedup speedup = EstimateSpeedup(rounds, context_.load_effect, looks);
    TellMeasured(speedup.median);
    if (speedup.certain > 1) {
      result_.winner = finalist;
      result_.speedup = speedup;
      result_.optimized = measurements[1];
    }
    return speedup;
  }

  const absl::Span<const PlanCandidate> candidates_;
  const VerificationOptions& options_;
  const VerificationContext& context_;
  double seconds_to_decide_ = 0;
  double choosing_seconds_ = 0;                // predicted, of all batches that choose
  double seconds_ahead_ = 0;                   // predicted, of all batches
  double seconds_behind_ = 0;                  // predicted, of those that are over
  double told_speedup_ = 0;                    // by OnMeasured
  std::map<int, std::vector<double>> ratios_;  // of all rounds so far, by candidate
  bool is_overdue_ = false;                    // the last batch was ended
  std::set<int> unusable_;                     // wrong, or did not run
  std::map<int, Refusal> refusals_;            // by candidate; of the winner too
  std::set<int> measured_;                     // beside the baseline
  VerificationResult result_;
};

}  // namespace

double SecondsToDecide(const PlanCandidate& baseline, const PlanCandidate& candidate,
                       const VerificationOptions& options) {
  const PlanCandidate pair[] = {baseline, candidate};
  return SecondsToVerify(
      pair, {.loads = kLoadsLeast, .rounds = (options.rounds_min + kLoadsLeast - 1) / kLoadsLeast},
      options.given_inputs);
}

bool IsAccepted(const Equivalence& equivalence, bool accept_inconclusive) {
  if (equivalence.verdict == Verdict::kEquivalent) return true;
  return accept_inconclusive && equivalence.verdict == Verdict::kInconclusive &&
         equivalence.inputs_tried > 0;
}

absl::StatusOr<VerificationResult> VerifyCandidates(absl::Span<const PlanCandidate> candidates,
                                                    const VerificationOptions& options,
                                                    const VerificationContext& context) {
  return Verification(candidates, options, context).Run();
}

}  // namespace plait
