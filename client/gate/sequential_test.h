#pragma once

#include <limits>
#include <vector>

namespace plait {

// Judges, while observations come in, whether what they are centred on lies above or below a limit.
// It may be asked after every observation, or pair of them (see below): the error that is stated
// holds over all looks together, however many there are and whenever somebody stops.
//
// Method: testing by betting (Ramdas, Gruenwald, Vovk, Shafer: Game-theoretic statistics and safe
// anytime-valid inference, Statistical Science 2023; tests of symmetry as in Vovk, Wang:
// Nonparametric e-tests of symmetry, 2024). If the centre were at the limit, each observation would
// be as likely that far above it as below, whatever its distance. So a bet that wins the share b of
// the wealth on one side and loses it on the other is fair, also when b grows with the distance.
// Wealth that is 1/e times what it began with is therefore seen with probability e at most (Ville's
// inequality), at any time. The wealth is that of several bettors, who differ in how much they risk
// and in the distance that they find large.
//
// What is assumed: observations are independent, and symmetric about one centre. Nothing is assumed
// of their spread, which need not be known, nor of their tails: one that is far away counts once.
// A bias of alternating sign, as of who comes first, is harmless as long as looks come after an
// even number of observations. Not thread-safe.
class SequentialTest {
 public:
  enum class Decision { kOpen, kAbove, kBelow };

  // Bounds of the centre, each of which is wrong with probability error_max at most; infinite while
  // there are too few observations for any.
  struct Interval {
    double low = -std::numeric_limits<double>::infinity();
    double high = std::numeric_limits<double>::infinity();
  };

  // REQUIRES: 0 < error_max < 1.
  SequentialTest(double limit, double error_max);

  // REQUIRES: finite.
  void Add(double observation);

  // kAbove although the centre is not above the limit, or kBelow although it is not below, each has
  // probability error_max at most.
  Decision Decide() const;

  // Those that the observations give now. Decide is kAbove exactly when `low` lies above the limit.
  Interval Bounds() const;

  const std::vector<double>& observations() const { return observations_; }

 private:
  // Whether the centre is known to be above (sign 1) or below (-1) a limit.
  bool IsBeyond(double limit, double sign) const;
  double Bound(double sign) const;

  const double limit_;
  const double error_max_;
  std::vector<double> observations_;
  // Logarithms of each bettor's wealth at the limit.
  std::vector<double> bets_above_;
  std::vector<double> bets_below_;
};

}  // namespace plait
