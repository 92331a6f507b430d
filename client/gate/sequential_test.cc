#include "client/gate/sequential_test.h"

#include <algorithm>
#include <cmath>

// Eight observations, all 0.02 above the limit. Whoever bets all wins all each time: 2^8 = 256
// times the wealth. Whoever finds 0.02 a moderate distance bets tanh(50 * 0.02) = 0.76 of
// it: 1.76^8 = 92. The six bettors together have 145 times what they began with, which has
// probability 1/145 at most if the centre is at the limit: enough for an error of 0.01, and no six
// observations are. One that is far on the other side ruins those who bet all; those who keep a
// fifth go on.

namespace plait {
namespace {

struct Bettor {
  double steepness;  // bets tanh(steepness * distance) of ...
  double share;      // ... so much of the wealth
};

// Distances are logarithms of ratios: a per cent is 0.01. The first finds 2 % large, the second
// 0.5 %, the third 0.1 %; the last looks at the side alone.
constexpr double kSideAlone = 1e9;
constexpr Bettor kBettors[] = {{50, 1},   {200, 1},   {1000, 1},
                               {50, 0.8}, {200, 0.8}, {kSideAlone, 0.8}};

// So far beyond all observations nobody who bets finds a distance small.
constexpr double kFarOut = 1;
// Of an interval of about that length: what they leave is less than anybody prints.
constexpr int kHalvings = 24;

// What an observation at this distance, on the side that was bet on, does to each logarithm.
void Bet(double distance, std::vector<double>& log_wealth) {
  for (size_t i = 0; i < std::size(kBettors); ++i) {
    const Bettor& bettor = kBettors[i];
    log_wealth[i] += std::log1p(bettor.share * std::tanh(bettor.steepness * distance));
  }
}

bool IsEnough(const std::vector<double>& log_wealth, double error_max) {
  double wealth = 0;
  for (const double log : log_wealth) wealth += std::exp(log) / std::size(kBettors);
  return wealth >= 1 / error_max;
}

}  // namespace

SequentialTest::SequentialTest(double limit, double error_max)
    : limit_(limit),
      error_max_(error_max),
      bets_above_(std::size(kBettors)),
      bets_below_(std::size(kBettors)) {}

void SequentialTest::Add(double observation) {
  observations_.push_back(observation);
  Bet(observation - limit_, bets_above_);
  Bet(limit_ - observation, bets_below_);
}

SequentialTest::Decision SequentialTest::Decide() const {
  if (IsEnough(bets_above_, error_max_)) return Decision::kAbove;
  if (IsEnough(bets_below_, error_max_)) return Decision::kBelow;
  return Decision::kOpen;
}

bool SequentialTest::IsBeyond(double limit, double sign) const {
  std::vector<double> log_wealth(std::size(kBettors));
  for (const double observation : observations_) Bet(sign * (observation - limit), log_wealth);
  return IsEnough(log_wealth, error_max_);
}

// The wealth of those who bet on "above" falls as the limit rises: halving finds where it crosses.
double SequentialTest::Bound(double sign) const {
  const auto [least, greatest] = std::minmax_element(observations_.begin(), observations_.end());
  double outside = sign > 0 ? *least - kFarOut : *greatest + kFarOut;
  double inside = sign > 0 ? *greatest : *least;
  if (!IsBeyond(outside, sign)) return -sign * std::numeric_limits<double>::infinity();
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (outside + inside) / 2;
    (IsBeyond(middle, sign) ? outside : inside) = middle;
  }
  return outside;
}

SequentialTest::Interval SequentialTest::Bounds() const {
  if (observations_.empty()) return {};
  return {Bound(1), Bound(-1)};
}

}  // namespace plait
