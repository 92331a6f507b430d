#pragma once

#include <vector>

#include "absl/types/span.h"
#include "optimizer/cost/load_effect.h"

namespace plait {

// How much faster one plan is than another. More than 1 is faster.
struct Speedup {
  double median = 1;
  // Of the ratio itself, over all loads that there might be: 97.5 % of such bounds lie below it.
  // What is accepted by it being above 1 is slower in 2.5 % of cases at most, however many rounds
  // were taken, and however many of the looks that were allowed.
  double certain = 1;
  // Where 95 % of later measurements find it, which take 15 rounds in two loads of their own, as
  // `plait bench` does.
  double low = 1;
  double high = 1;
};

// Rounds of a later measurement that `low` and `high` speak of, and its loads.
inline constexpr int kLaterRounds = 15;
inline constexpr int kLaterLoads = 2;

// Times of two plans that were taken in turn, in one or several loads.
struct PairedRounds {
  absl::Span<const double> before_us;
  absl::Span<const double> after_us;  // sample i of both was taken in the same round
  absl::Span<const int> load_rounds;  // how many rounds each load had; their sum is all
};

// At how many points of growing rounds one may look whether a speedup is certain yet, at most.
inline constexpr int kLooksMax = 6;

// The speedup of `after` over `before`. Within a load the median of the ratios counts, so that a
// round that something has disturbed moves nothing; loads are averaged. Their spread is what these
// loads show or what the device's load effect says, whichever is more: a few loads alone tell
// little. Whoever may look again with more rounds if nothing is certain says how often at most,
// before the first look: the bounds of all looks are as much wider as keeps the error of all
// together (Pocock, Group sequential methods in the design and analysis of clinical trials, 1977).
// Whoever takes one of several plans if it is certainly faster says of how many, and the bounds of
// each are as much wider as keeps the error of all together (Bonferroni).
// Without rounds: 1, 1, 1, 1. Pure; symmetric: what is x times as fast one way round is 1/x times
// as fast the other. REQUIRES: equal numbers of samples, all > 0; no load without rounds; looks is
// 1 to kLooksMax, plans 1 to kPlansAtOnceMax, and one of the two 1.
Speedup EstimateSpeedup(const PairedRounds& rounds, const LoadEffect& effect, int looks = 1,
                        int plans = 1);

// How many plans one may take one of, at most.
inline constexpr int kPlansAtOnceMax = 2;

// What runs for `before_us` of a whole whose parts run one after the other.
struct PartSpeedup {
  double before_us = 0;
  Speedup speedup;
};

// The speedup of a whole whose parts were measured one by one, in rounds and loads of their own. It
// lies between those of its parts: a whole of parts that are faster or as they were is never
// slower. Its bounds are those of the case that all parts are at theirs. Without parts that take
// time: 1, 1, 1, 1. Pure. REQUIRES: no time below 0; speedups above 0.
Speedup CombinedSpeedup(absl::Span<const PartSpeedup> parts);

// Whether a speedup that is not certain yet is worth another look: 0.5 % at least. How noisy the
// first rounds were is no reason to stop, for further ones may be less so.
bool IsWorthAnotherLook(const Speedup& speedup);

// What is between the loads of two plans, without the noise of the rounds: of a plan beside itself,
// or of any two, since a speedup is the same in every load. Without the loads that are far from the
// others: another program ran beside them. At least 0.3 %.
// REQUIRES: as EstimateSpeedup; at least two loads.
LoadEffect LoadEffectOf(const PairedRounds& rounds);

// The load effect of a device of which more loads were seen than those that `known` is about. The
// latest kLoadsRemembered loads count, roughly: a device changes, and so does what runs beside
// plait on it.
LoadEffect PooledLoadEffect(const LoadEffect& known, const LoadEffect& seen);
inline constexpr int kLoadsRemembered = 60;

}  // namespace plait
