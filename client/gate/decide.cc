#include "client/gate/decide.h"

#include <algorithm>
#include <cmath>

#include "base/statistics.h"
#include "base/status_macros.h"
#include "client/gate/sequential_test.h"

namespace plait {
namespace {

// The median, because a round that something has disturbed tells nothing of its load.
double LogRatioOf(const PairedLoad& load) {
  std::vector<double> logs;
  for (size_t i = 0; i < load.base_us.size(); ++i) {
    logs.push_back(std::log(load.new_us[i] / load.base_us[i]));
  }
  return Median(std::move(logs));
}

GateVerdict VerdictOf(SequentialTest::Decision decision) {
  switch (decision) {
    case SequentialTest::Decision::kAbove:
      return GateVerdict::kFail;
    case SequentialTest::Decision::kBelow:
      return GateVerdict::kPass;
    default:
      return GateVerdict::kInconclusive;
  }
}

}  // namespace

absl::StatusOr<GateOutcome> DecideGate(PairSource& source, Clock& clock,
                                       const GateOptions& options) {
  const absl::Duration start = clock.Monotonic();
  SequentialTest test(std::log1p(options.max_regression), options.error_max);
  GateOutcome outcome;
  absl::Duration elapsed;
  absl::Duration longest_pair;
  do {
    // Looks come after pairs: what is gained by being first has then been on both sides.
    for (const bool new_first : {false, true}) {
      PLAIT_ASSIGN_OR_RETURN(const PairedLoad load, source.MeasureLoad(new_first));
      test.Add(LogRatioOf(load));
      outcome.base_us.insert(outcome.base_us.end(), load.base_us.begin(), load.base_us.end());
      outcome.new_us.insert(outcome.new_us.end(), load.new_us.begin(), load.new_us.end());
    }
    outcome.verdict = VerdictOf(test.Decide());
    longest_pair = std::max(longest_pair, clock.Monotonic() - start - elapsed);
    elapsed = clock.Monotonic() - start;
  } while (outcome.verdict == GateVerdict::kInconclusive &&
           elapsed + longest_pair <= options.time_max);
  const SequentialTest::Interval bounds = test.Bounds();
  outcome.ratio = std::exp(Median(test.observations()));
  outcome.ratio_low = std::exp(bounds.low);
  outcome.ratio_high = std::exp(bounds.high);
  outcome.loads = static_cast<int>(test.observations().size());
  outcome.seconds = absl::ToDoubleSeconds(elapsed);
  return outcome;
}

}  // namespace plait
