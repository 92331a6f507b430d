#include "optimizer/search/paired_ratio.h"

#include <algorithm>
#include <vector>

#include "base/random.h"
#include "base/statistics.h"

// Before takes 10, 30 and 20 us in three rounds, after takes 5, 15 and 10: the times differ by a
// factor of three, their ratios are 2, 2 and 2. The interval of the ratios is [2, 2], and the drift
// of the machine is gone. For ratios that do vary, a resample draws as many of them with
// replacement and takes the median; the interval leaves out the lowest and the highest 2.5 % of
// 1000 such medians (Efron 1979). O(1000 n log n).

namespace plait {

RatioInterval PairedRatio(absl::Span<const double> before_us, absl::Span<const double> after_us,
                          uint64_t seed) {
  std::vector<double> ratios;
  for (size_t i = 0; i < before_us.size(); ++i) ratios.push_back(before_us[i] / after_us[i]);
  if (ratios.empty()) return {};
  // 1000 resamples: the 2.5 % tail then rests on 25 of them.
  constexpr int kResamples = 1000;
  Random random(seed);
  std::vector<double> medians;
  std::vector<double> resample(ratios.size());
  for (int round = 0; round < kResamples; ++round) {
    for (double& ratio : resample) {
      ratio = ratios[random.Integer(0, static_cast<int64_t>(ratios.size()) - 1)];
    }
    medians.push_back(Median(resample));
  }
  std::sort(medians.begin(), medians.end());
  return {medians[kResamples / 40], Median(ratios), medians[kResamples - 1 - kResamples / 40]};
}

}  // namespace plait
