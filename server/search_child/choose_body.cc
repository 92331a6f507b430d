#include "server/search_child/choose_body.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/statistics.h"
#include "base/status_macros.h"
#include "optimizer/cost/measuring_rules.h"
#include "optimizer/search/verifier.h"

// Two runtimes and the models o, a, b: each runs o a b for three to five rounds. a is 1.04 times as
// fast as o in the one and 0.9 times in the other, b 1.02 and 1.01 times: b is the finalist, and o
// b run for 15 rounds or more in three loads of each runtime. Where both lower bounds are above 1 b
// is returned.

namespace plait {
namespace {

// Of a runtime's seconds, for choosing a finalist; and what a load of a small model takes, with the
// process that it runs in.
constexpr double kChoosingShare = 0.35;
constexpr double kSecondsPerLoad = 0.3;
constexpr double kSecondsToStart = 1;

constexpr char kNoTime[] = "there was no time left to measure in it";
constexpr char kNoTimeToCompare[] = "there was no time to compare rewritten graphs in it";

class Chooser {
 public:
  Chooser(const std::vector<v1::Digest>& models, const BodyChooserOptions& options,
          RuntimeSource& source, MeasurementLog& log)
      : models_(models), options_(options), source_(source), log_(log) {}

  absl::StatusOr<BodyChoice> Run() {
    int finalist = models_.size() > 1 ? 1 : 0;
    if (models_.size() > 2) {
      PLAIT_ASSIGN_OR_RETURN(finalist, ChooseFinalist());
    }
    BodyChoice choice;
    for (size_t i = 0; i < source_.runtimes().size(); ++i) {
      PLAIT_ASSIGN_OR_RETURN(RuntimeDecision decision,
                             Decide(source_.runtimes()[i], finalist, SecondsFor(i)));
      choice.decisions.push_back(std::move(decision));
    }
    if (options_.is_given || IsFasterInAll(choice.decisions)) {
      choice.model = finalist;
    } else {
      for (RuntimeDecision& decision : choice.decisions) ReturnOriginal(decision);
    }
    return choice;
  }

 private:
  // An even part of what is left, for each of the runtimes from `index` on.
  double SecondsFor(size_t index) {
    return source_.SecondsLeft() / static_cast<double>(source_.runtimes().size() - index);
  }

  // What so many models take at least.
  double SecondsOf(size_t models, int loads, int rounds) const {
    const RoundRuns runs = RunsOfRound(options_.latency_us);
    const double turn = (runs.untimed + runs.timed) * options_.latency_us * 1e-6;
    return kSecondsToStart +
           static_cast<double>(models) * (loads * kSecondsPerLoad + rounds * turn);
  }

  absl::StatusOr<RuntimeMeasurement> Measure(const std::string& runtime,
                                             const std::vector<v1::Digest>& models,
                                             const RuntimeBatch& batch) {
    const double least = SecondsOf(models.size(), std::min(batch.loads, 2), batch.rounds_min);
    absl::StatusOr<RuntimeMeasurement> answer = batch.seconds_max < least
                                                    ? source_.Skip(runtime, kNoTime)
                                                    : source_.Measure(runtime, models, batch);
    if (answer.ok()) log_.AddRuntimeMeasurement(*answer);
    return answer;
  }

  // 0 when no model is at least as fast as the original in each runtime.
  absl::StatusOr<int> ChooseFinalist() {
    std::vector<double> worst(models_.size(), std::numeric_limits<double>::infinity());
    worst[0] = 1;
    for (size_t i = 0; i < source_.runtimes().size(); ++i) {
      const RuntimeBatch batch = {.seconds_max = kChoosingShare * SecondsFor(i)};
      PLAIT_ASSIGN_OR_RETURN(const RuntimeMeasurement measured,
                             Measure(source_.runtimes()[i], models_, batch));
      const CandidateMeasurement& original = measured.models[0];
      if (measured.models.size() < models_.size() || !AreComparable(original, original)) continue;
      for (size_t model = 1; model < models_.size(); ++model) {
        worst[model] = std::min(worst[model], RatioOf(original, measured.models[model]));
      }
    }
    const auto best = std::max_element(worst.begin() + 1, worst.end());
    // No runtime has said anything, or one that is slower already is not worth the rounds.
    const bool is_known = *best < std::numeric_limits<double>::infinity();
    return is_known && *best > 1 ? static_cast<int>(best - worst.begin()) : 0;
  }

  // 0 for a model that may not be returned.
  static double RatioOf(const CandidateMeasurement& original, const CandidateMeasurement& model) {
    const auto& times = {&original.latency_us, &model.latency_us};
    const bool are_finite = std::all_of(times.begin(), times.end(), [](const auto* samples) {
      return std::all_of(samples->begin(), samples->end(),
                         [](double us) { return std::isfinite(us); });
    });
    if (!are_finite || !model.error.empty() || model.equivalence.verdict == Verdict::kDifferent ||
        !AreComparable(original, model)) {
      return 0;
    }
    std::vector<double> ratios;
    for (size_t i = 0; i < model.latency_us.size(); ++i) {
      ratios.push_back(original.latency_us[i] / model.latency_us[i]);
    }
    return Median(std::move(ratios));
  }

  absl::StatusOr<RuntimeDecision> Decide(const std::string& runtime, int finalist, double seconds) {
    std::vector<v1::Digest> pair = {models_[0]};
    RuntimeBatch batch = {.loads = 1, .rounds = 12, .rounds_min = 3, .seconds_max = seconds};
    const bool has_time = seconds >= SecondsOf(2, 2, kRuntimeRoundsMin);
    if (finalist > 0 && has_time) {
      pair.push_back(models_[static_cast<size_t>(finalist)]);
      batch.loads = kRuntimeLoads;
      batch.rounds_min = kRuntimeRoundsMin;
    }
    PLAIT_ASSIGN_OR_RETURN(RuntimeMeasurement measured, Measure(runtime, pair, batch));
    RuntimeDecision decision;
    decision.runtime = runtime;
    decision.version = measured.version;
    decision.options = measured.options;
    decision.threads = measured.threads;
    decision.original = measured.models[0];
    decision.model = measured.models.back();
    if (!AreComparable(decision.original, decision.original)) {
      decision.note = decision.original.error.empty() ? "it has no times" : decision.original.error;
      return decision;
    }
    // In a replay the log says whether there was time.
    if (measured.models.size() < 2) {
      if (finalist > 0) decision.note = kNoTimeToCompare;
      return decision;
    }
    if (RatioOf(decision.original, decision.model) == 0) {
      decision.note = decision.model.error.empty() ? "outputs of the rewritten graph differ in it"
                                                   : decision.model.error;
      return decision;
    }
    decision.speedup = EstimateSpeedup(
        {decision.original.latency_us, decision.model.latency_us, decision.original.load_rounds},
        options_.load_effect);
    return decision;
  }

  static bool IsFasterInAll(const std::vector<RuntimeDecision>& decisions) {
    bool is_faster = false;
    for (const RuntimeDecision& decision : decisions) {
      // It has no say. Where there was no time or no answer, nothing is known, and nothing is
      // risked.
      if (!AreComparable(decision.original, decision.original)) {
        if (decision.note == kNoTime || decision.note == kRuntimeSilent) return false;
        continue;
      }
      const bool is_proven = decision.model.equivalence.verdict == Verdict::kEquivalent &&
                             decision.original.load_rounds.size() > 1 &&
                             decision.original.latency_us.size() >= kRuntimeRoundsMin;
      if (!decision.note.empty() || !is_proven || decision.speedup.certain <= 1) return false;
      is_faster = true;
    }
    return is_faster;
  }

  // What another model needed is of no use to whoever gets the original.
  static void ReturnOriginal(RuntimeDecision& decision) {
    decision.model = decision.original;
    decision.speedup = {};
    const bool is_measured = AreComparable(decision.original, decision.original);
    if (is_measured && decision.note != kNoTimeToCompare) decision.note.clear();
  }

  const std::vector<v1::Digest>& models_;
  const BodyChooserOptions& options_;
  RuntimeSource& source_;
  MeasurementLog& log_;
};

}  // namespace

absl::StatusOr<BodyChoice> ChooseBody(const std::vector<v1::Digest>& models,
                                      const BodyChooserOptions& options, RuntimeSource& source,
                                      MeasurementLog& log) {
  return Chooser(models, options, source, log).Run();
}

}  // namespace plait
