#pragma once

#include <vector>

#include "optimizer/search/partition.h"

namespace plait {

// A solved interval: the costs of its variants, cheapest first. In microseconds, as everything
// here; the program would do with any cost that adds up.
// Without variants it is never chosen.
struct SolvedInterval {
  Interval interval;
  std::vector<double> costs_us;
};

// Intervals, one behind the other, that cover all leaves; and which variant each of them takes.
// The links' intervals meet: the first begins at leaf 0, each at the end of the one before.
struct IntervalChain {
  struct Link {
    int interval = 0;  // index into the solved intervals
    int variant = 0;   // index into its costs
    friend bool operator==(const Link&, const Link&) = default;
  };
  std::vector<Link> links;
  double cost_us = 0;  // the sum over the links
};

// The `chains_max` cheapest chains, at least one: F[j] = best of F[i] + interval [i, j) (AutoGraph,
// AAAI 2023, figure 4). Pure; equal arguments give equal chains, in equal order.
//
// The sum of the parts' costs is an upper bound for the whole, exact where one tensor crosses each
// cut. Cheapest first; among equals the one with fewer links.
// Three leaves with single costs 4, 4, 4 and a union [0, 2) of 6: the cheapest chain is the union
// and then leaf 2, for 10; the next one is the three leaves, for 12.
// REQUIRES: every single leaf is an interval and has a variant; chains_max is positive.
std::vector<IntervalChain> ChooseIntervals(int leaf_count,
                                           const std::vector<SolvedInterval>& intervals,
                                           int chains_max);

}  // namespace plait
