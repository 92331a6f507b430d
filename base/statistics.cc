#include "base/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace plait {

// Selecting costs n, sorting n log n; the bootstrap of a ratio asks for 1000 medians.
double Median(std::vector<double> samples) {
  if (samples.empty()) return 0;
  const auto middle = samples.begin() + static_cast<ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  if (samples.size() % 2 == 1) return *middle;
  // What stands before the middle is not in order, but nothing in it is greater.
  return (*std::max_element(samples.begin(), middle) + *middle) / 2;
}

double Quantile(std::vector<double> samples, double share) {
  if (samples.empty()) return 0;
  const auto rank = std::lround(share * static_cast<double>(samples.size() - 1));
  const auto place = samples.begin() + static_cast<ptrdiff_t>(rank);
  std::nth_element(samples.begin(), place, samples.end());
  return *place;
}

}  // namespace plait
