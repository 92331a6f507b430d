#include "optimizer/search/speedup.h"

#include <algorithm>
#include <cmath>

#include "base/statistics.h"

// Two loads of three rounds: before takes 10, 30, 20 and 11, 22, 33 us, after 5, 15, 10 and 5, 10,
// 15. The ratios are 2, 2, 2 and 2.2, 2.2, 2.2: the rounds of a load agree, and the loads differ by
// ten per cent. Rounds alone would say that the second load is surely faster; a third load may be
// anywhere. So what is averaged are the loads, one logarithm each, and the error of the mean is
// their spread divided by the root of their number.
//
// The spread has two parts. The load effect is the device's. The other part is what is left of the
// noise within a load: the median of n normal samples has pi/2 times the variance of their mean.

namespace plait {
namespace {

// pi / 2.
constexpr double kMedianVariance = 1.5708;
// The standard deviation of normal samples is so many times their median absolute deviation.
constexpr double kDeviationOfMad = 1.4826;

// Of 1000 normal samples 3 lie farther away than three deviations: whatever does is no sample.
constexpr double kReach = 3;
// No device was seen to differ by less from load to load; twenty loads may agree by chance.
constexpr double kLoadDeviationMin = 0.003;

// What the mean of normal samples exceeds in 2.5 % of cases, in deviations of it, at one of so many
// looks, each with as many samples more as the first has (Pocock's constants).
constexpr double kNormalOfLooks[kLooksMax] = {1.959964, 2.178273, 2.289490,
                                              2.361275, 2.413082, 2.453114};

// The same for one look at each of so many plans: 2.5 % and 1.25 %.
constexpr double kNormalOfPlans[kPlansAtOnceMax] = {1.959964, 2.241403};

// The quantile of Student's t where a normal distribution has its own at `normal`: within 2.5 %
// from three degrees of freedom on, and 8 % too small at two (the first terms of its expansion for
// many degrees).
double StudentQuantile(double normal, double degrees) {
  const double square = normal * normal;
  const double first = (square + 1) / 4;
  const double second = ((5 * square + 16) * square + 3) / 96;
  const double third = (((3 * square + 19) * square + 17) * square - 15) / 384;
  return normal * (1 + first / degrees + second / (degrees * degrees) +
                   third / (degrees * degrees * degrees));
}

double Variance(absl::Span<const double> values) {
  if (values.size() < 2) return 0;
  double mean = 0;
  for (const double value : values) mean += value / static_cast<double>(values.size());
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return sum / static_cast<double>(values.size() - 1);
}

// The logarithms of the ratios, summed up load by load.
struct LoadLogs {
  std::vector<double> medians;  // one per load
  double noise_variance = 0;    // of the rounds within a load

  double rounds_per_load = 0;

  // What the noise adds to the variance of the median of so many rounds.
  double NoiseOfMedian(double rounds) const { return kMedianVariance * noise_variance / rounds; }
};

LoadLogs LogsOf(const PairedRounds& rounds) {
  LoadLogs loads;
  std::vector<double> deviations;
  size_t next = 0;
  for (const int count : rounds.load_rounds) {
    std::vector<double> logs;
    for (int i = 0; i < count; ++i, ++next) {
      logs.push_back(std::log(rounds.before_us[next] / rounds.after_us[next]));
    }
    const double median = Median(logs);
    loads.medians.push_back(median);
    for (const double log : logs) deviations.push_back(std::abs(log - median));
  }
  if (deviations.empty()) return loads;
  loads.rounds_per_load =
      static_cast<double>(deviations.size()) / static_cast<double>(loads.medians.size());
  const double deviation = kDeviationOfMad * Median(std::move(deviations));
  loads.noise_variance = deviation * deviation;
  return loads;
}

}  // namespace

Speedup EstimateSpeedup(const PairedRounds& rounds, const LoadEffect& effect, int looks,
                        int plans) {
  const LoadLogs loads = LogsOf(rounds);
  if (loads.medians.empty()) return {};
  const auto count = static_cast<double>(loads.medians.size());
  double mean = 0;
  for (const double median : loads.medians) mean += median / count;

  const double noise = loads.NoiseOfMedian(loads.rounds_per_load);
  const double expected = effect.deviation * effect.deviation + noise;
  const double seen = Variance(loads.medians);
  const double variance = std::max(expected, seen);
  // A later measurement meets the same device, and may meet what these loads show beyond it.
  const double later =
      variance - noise + loads.NoiseOfMedian(static_cast<double>(kLaterRounds) / kLaterLoads);

  // What a few loads show is known less well than what all those of the device did.
  const double degrees = std::max(2.0, (seen > expected ? 0 : effect.loads - 1) + count - 1);
  const double normal = std::max(kNormalOfLooks[looks - 1], kNormalOfPlans[plans - 1]);
  const double certain = StudentQuantile(normal, degrees) * std::sqrt(variance / count);
  const double predicted = StudentQuantile(kNormalOfLooks[0], degrees) *
                           std::sqrt(variance / count + later / kLaterLoads);
  return {std::exp(mean), std::exp(mean - certain), std::exp(mean - predicted),
          std::exp(mean + predicted)};
}

Speedup CombinedSpeedup(absl::Span<const PartSpeedup> parts) {
  Speedup whole;
  for (double Speedup::*bound :
       {&Speedup::median, &Speedup::certain, &Speedup::low, &Speedup::high}) {
    double before_us = 0;
    double after_us = 0;
    for (const PartSpeedup& part : parts) {
      before_us += part.before_us;
      after_us += part.before_us / (part.speedup.*bound);
    }
    if (after_us > 0) whole.*bound = before_us / after_us;
  }
  return whole;
}

bool IsWorthAnotherLook(const Speedup& speedup) {
  constexpr double kSpeedupMin = 1.005;
  return speedup.certain <= 1 && speedup.median >= kSpeedupMin;
}

LoadEffect LoadEffectOf(const PairedRounds& rounds) {
  const LoadLogs loads = LogsOf(rounds);
  const double middle = Median(loads.medians);
  std::vector<double> distances;
  for (const double median : loads.medians) distances.push_back(std::abs(median - middle));
  const double reach = kReach * kDeviationOfMad * Median(std::move(distances));
  std::vector<double> undisturbed;
  for (const double median : loads.medians) {
    if (std::abs(median - middle) <= reach) undisturbed.push_back(median);
  }
  const double variance = Variance(undisturbed) - loads.NoiseOfMedian(loads.rounds_per_load);
  const double deviation = std::sqrt(std::max(0.0, variance));
  return {std::max(deviation, kLoadDeviationMin), static_cast<int>(loads.medians.size())};
}

LoadEffect PooledLoadEffect(const LoadEffect& known, const LoadEffect& seen) {
  const int loads = known.loads + seen.loads;
  if (loads == 0) return known;
  const double variance = (known.loads * known.deviation * known.deviation +
                           seen.loads * seen.deviation * seen.deviation) /
                          loads;
  return {std::sqrt(variance), std::min(loads, kLoadsRemembered)};
}

}  // namespace plait
