#pragma once

#include <vector>

namespace plait {

// What a set of samples comes to. Every figure of plait is made by these two, so that two figures
// of the same samples agree wherever they are printed. Both take the samples by value, because
// they reorder them, and need no order of them. Samples must not be NaN. Pure and thread-safe.

// The middle sample, or the mean of the two middle ones when their number is even; 0 for none.
double Median(std::vector<double> samples);

// The sample at `share` of the way from the least to the greatest, by the nearest rank: 0 is the
// least, 1 the greatest, 0.1 the 10th percentile; 0 for no samples. It is always one of the
// samples and never a mean of two, so Quantile(x, 0.5) is not Median(x) for an even number.
// REQUIRES: 0 <= share <= 1.
double Quantile(std::vector<double> samples, double share);

}  // namespace plait
