#include "server/search_child/choose_body.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/statistics.h"
#include "base/status_macros.h"
#include "optimizer/cost/measuring_rules.h"
#include "optimizer/search/verifier.h"

// Two runtimes and the models o, a, b, c: each runs o a b c for three to five rounds. a is 1.04
// times as fast as o in the one and 0.9 times in the other, b 1.02 and 1.03 times, c 1.3 and 1.01
// times: b is the first finalist, c the second, and o b c run for 15 rounds or more in three loads
// of each runtime. Bounds are those of two chances. Where c is above 1 in both runtimes by them,
// and b in one of them, c is returned.

namespace plait {
namespace {

// Of a runtime's seconds, for choosing finalists.
constexpr double kChoosingShare = 0.35;
// What a runtime takes to start, and a load of a small model with the process that it runs in; and
// of a large one each byte: on the way to that process, with comparing outputs, and in each load
// (gpt2 has 0.5 GB: three graphs of it take 22 s with 15 rounds, and a load 0.8 s in ONNX Runtime).
constexpr double kSecondsToStart = 1;
constexpr double kSecondsPerLoad = 0.3;
constexpr double kSecondsPerByteGiven = 5e-9;
constexpr double kSecondsPerByteLoaded = 2e-9;
// A second finalist takes rounds and certainty from the first one. It comes along where it is
// slower than that by no more than short runs err.
constexpr int kFinalistsMax = kPlansAtOnceMax;
constexpr double kRunnerUpShare = 0.95;

constexpr char kNoTimeToCompare[] = "there was no time to compare rewritten graphs in it";

// What so many models take at least. The original alone is worth being late: without its time
// nobody can say which runtime is the fastest.
double SecondsInRuntime(size_t models, int64_t model_bytes, double latency_us, int loads,
                        int rounds) {
  const RoundRuns runs = RunsOfRound(latency_us);
  const double turn = (runs.untimed + runs.timed) * latency_us * 1e-6;
  const double bytes = models > 1 ? static_cast<double>(model_bytes) : 0;
  const double load = kSecondsPerLoad + kSecondsPerByteLoaded * bytes;
  return kSecondsToStart + static_cast<double>(models) *
                               (kSecondsPerByteGiven * bytes + loads * load + rounds * turn);
}

class Chooser {
 public:
  Chooser(const std::vector<v1::Digest>& models, const BodyChooserOptions& options,
          RuntimeSource& source, MeasurementLog& log)
      : models_(models), options_(options), source_(source), log_(log) {}

  absl::StatusOr<BodyChoice> Run() {
    const int rewritten = static_cast<int>(models_.size()) - 1;
    if (rewritten > kFinalistsMax) {
      PLAIT_ASSIGN_OR_RETURN(finalists_, ChooseFinalists());
    } else {
      for (int model = 1; model <= rewritten; ++model) finalists_.push_back(model);
    }
    std::vector<RuntimeMeasurement> rounds;
    for (size_t i = 0; i < source_.runtimes().size(); ++i) {
      PLAIT_ASSIGN_OR_RETURN(rounds.emplace_back(),
                             MeasureFinalists(source_.runtimes()[i], SecondsFor(i)));
    }
    return Choose(rounds);
  }

 private:
  // An even part of what is left, for each of the runtimes from `index` on.
  double SecondsFor(size_t index) {
    const size_t left = source_.runtimes().size() - index + (options_.keeps_time ? 1 : 0);
    return source_.SecondsLeft() / static_cast<double>(left);
  }

  double SecondsOf(size_t models, int loads, int rounds) const {
    return SecondsInRuntime(models, models_[0].size_bytes(), options_.latency_us, loads, rounds);
  }

  absl::StatusOr<RuntimeMeasurement> Measure(const std::string& runtime,
                                             const std::vector<v1::Digest>& models,
                                             const RuntimeBatch& batch) {
    const double least = SecondsOf(models.size(), std::min(batch.loads, 2), batch.rounds_min);
    absl::StatusOr<RuntimeMeasurement> answer = batch.seconds_max < least
                                                    ? source_.Skip(runtime, kNoTimeForRuntime)
                                                    : source_.Measure(runtime, models, batch);
    if (answer.ok()) log_.AddRuntimeMeasurement(*answer);
    return answer;
  }

  // None when no model is faster than the original in each runtime.
  absl::StatusOr<std::vector<int>> ChooseFinalists() {
    std::vector<double> worst(models_.size(), std::numeric_limits<double>::infinity());
    bool is_known = false;
    bool has_time = true;
    for (size_t i = 0; i < source_.runtimes().size(); ++i) {
      const RuntimeBatch batch = {.seconds_max = kChoosingShare * SecondsFor(i)};
      PLAIT_ASSIGN_OR_RETURN(const RuntimeMeasurement measured,
                             Measure(source_.runtimes()[i], models_, batch));
      const CandidateMeasurement& original = measured.models[0];
      has_time &= original.error != kNoTimeForRuntime;
      if (measured.models.size() < models_.size() || !AreComparable(original, original)) continue;
      is_known = true;
      for (size_t model = 1; model < models_.size(); ++model) {
        worst[model] = std::min(worst[model], RatioInRounds(original, measured.models[model]));
      }
    }
    // There may be time to decide, though not to choose. The models are in the order of hope.
    if (!is_known) return has_time ? std::vector<int>() : std::vector<int>{1, 2};
    return BestOf(worst);
  }

  // Models by the least of their ratios. One that is slower already is not worth the rounds.
  static std::vector<int> BestOf(const std::vector<double>& worst) {
    std::vector<int> best;
    for (size_t model = 1; model < worst.size(); ++model) {
      if (worst[model] > 1) best.push_back(static_cast<int>(model));
    }
    std::stable_sort(best.begin(), best.end(), [&](int a, int b) { return worst[a] > worst[b]; });
    while (best.size() > kFinalistsMax ||
           (best.size() > 1 && worst[best.back()] < kRunnerUpShare * worst[best[0]])) {
      best.pop_back();
    }
    return best;
  }

  // The original and as many finalists as there is time for, the best first.
  absl::StatusOr<RuntimeMeasurement> MeasureFinalists(const std::string& runtime, double seconds) {
    size_t count = finalists_.size();
    while (count > 0 && seconds < SecondsOf(1 + count, 2, kRuntimeRoundsMin)) --count;
    std::vector<v1::Digest> models = {models_[0]};
    for (size_t i = 0; i < count; ++i) models.push_back(models_[finalists_[i]]);
    RuntimeBatch batch = {.loads = 1, .rounds = 12, .rounds_min = 3, .seconds_max = seconds};
    if (count > 0) {
      batch.loads = kRuntimeLoads;
      batch.rounds_min = kRuntimeRoundsMin;
    }
    return Measure(runtime, models, batch);
  }

  BodyChoice Choose(const std::vector<RuntimeMeasurement>& rounds) const {
    int chances = 1;
    for (const RuntimeMeasurement& measured : rounds) {
      chances = std::max(chances, static_cast<int>(measured.models.size()) - 1);
    }
    BodyChoice choice;
    double best = 0;
    for (size_t i = 0; i < std::max<size_t>(1, finalists_.size()); ++i) {
      std::vector<RuntimeDecision> decisions;
      for (const RuntimeMeasurement& measured : rounds) {
        decisions.push_back(Decide(measured, i, chances));
      }
      const double gain = IsFasterInAll(decisions) ? LeastGain(decisions) : 0;
      if (i > 0 && gain <= best) continue;
      best = gain;
      choice.decisions = std::move(decisions);
      if (gain > 0 || (options_.is_given && !finalists_.empty())) choice.model = finalists_[i];
    }
    if (choice.model == 0) {
      for (RuntimeDecision& decision : choice.decisions) ReturnOriginal(decision);
    }
    return choice;
  }

  // What a runtime says of one of the finalists, or of the original alone. Bounds are those of as
  // many chances as models were measured that might be returned.
  RuntimeDecision Decide(const RuntimeMeasurement& measured, size_t finalist, int chances) const {
    const size_t model = finalist + 1 < measured.models.size() ? finalist + 1 : 0;
    RuntimeDecision decision = DecisionOn(measured, model, chances, options_.load_effect);
    // In a replay the log says whether there was time.
    const bool had_no_time = options_.has_no_time || !finalists_.empty();
    if (model == 0 && had_no_time && decision.note.empty()) decision.note = kNoTimeToCompare;
    return decision;
  }

  static bool IsFasterInAll(const std::vector<RuntimeDecision>& decisions) {
    bool is_faster = false;
    for (const RuntimeDecision& decision : decisions) {
      // It has no say. Where there was no time or no answer, nothing is known, and nothing is
      // risked.
      if (!AreComparable(decision.original, decision.original)) {
        if (decision.note == kNoTimeForRuntime || decision.note == kRuntimeSilent) return false;
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

  // Of those that have a say.
  static double LeastGain(const std::vector<RuntimeDecision>& decisions) {
    double least = std::numeric_limits<double>::infinity();
    for (const RuntimeDecision& decision : decisions) {
      if (AreComparable(decision.original, decision.original)) {
        least = std::min(least, decision.speedup.median);
      }
    }
    return least;
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
  std::vector<int> finalists_;  // the best first
};

}  // namespace

double SecondsToDecideBody(int runtimes, int64_t model_bytes, double latency_us) {
  return runtimes * SecondsInRuntime(2, model_bytes, latency_us, 2, kRuntimeRoundsMin);
}

absl::StatusOr<BodyChoice> ChooseBody(const std::vector<v1::Digest>& models,
                                      const BodyChooserOptions& options, RuntimeSource& source,
                                      MeasurementLog& log) {
  return Chooser(models, options, source, log).Run();
}

}  // namespace plait
