#include "optimizer/cost/measuring_rules.h"

#include <algorithm>
#include <cmath>

// A plan of 1.1 ms took 1.86, 1.80, 1.43 and 1.18 ms in its first runs behind another plan,
// and 1.13 from the sixth on; one of 3 ms 3.46, 3.20, 3.13 and then 3.1; one of 30 ms the same in
// each. A sample taken too early tells which plan ran before, and differs by a third from one round
// to the next.

namespace plait {
namespace {

// 20 ms: a run that takes longer reads more than any cache holds, and repeats of it within a round
// would only take the time of further rounds.
constexpr double kShortRunUs = 20'000;
constexpr int kTimedRuns = 3;
// So long it takes until the caches hold what one plan reads.
constexpr double kSettleUs = 6'000;
// A plan that is over sooner reads too little to take as long.
constexpr int kUntimedRunsMax = 8;

}  // namespace

RoundRuns RunsOfRound(double run_us) {
  if (!(run_us < kShortRunUs)) return {};
  const double runs = std::ceil(kSettleUs / std::max(run_us, kSettleUs / kUntimedRunsMax));
  return {.untimed = static_cast<int>(runs), .timed = kTimedRuns};
}

}  // namespace plait
