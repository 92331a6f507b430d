#pragma once

#include <cstdint>

#include "absl/types/span.h"

namespace plait {

// How much faster one thing is than another: the median ratio of paired samples and its 95 %
// interval.
// Below 1 is slower. The bounds are those of the median, not of single samples.
struct RatioInterval {
  double low = 1;
  double median = 1;
  double high = 1;
};

// The interval by the percentile bootstrap (Efron 1979) over pairs, with 1000 seeded resamples.
// Ratios are before/after, so more than 1 means faster. Sample i of both was taken in the same
// round of measuring, so that what slows the machine down slows both. Without any pair: 1, 1, 1.
// Pure: equal samples and seeds give equal intervals.
// REQUIRES: equal lengths, samples > 0.
RatioInterval PairedRatio(absl::Span<const double> before_us, absl::Span<const double> after_us,
                          uint64_t seed);

}  // namespace plait
