#pragma once

#include <vector>

#include "optimizer/search/partition.h"

namespace plait {

// A solved interval. Intervals of one structure were searched once and have the same variants.
struct SolvedInterval {
  Interval interval;
  int structure = 0;  // index into the prices of structures
};

// A variant of a structure: what it costs, and which rules made it. In microseconds, as everything
// here; the program would do with any cost that adds up.
struct VariantPrice {
  double cost_us = 0;
  std::vector<int> rules;  // indices into some list, ascending
};

// Per structure its variants, cheapest first. A structure without variants is never chosen.
using StructurePrices = std::vector<std::vector<VariantPrice>>;

// Intervals, one behind the other, that cover all leaves; and which variant each of them takes.
// The links' intervals meet: the first begins at leaf 0, each at the end of the one before.
// Intervals of one structure take one variant.
struct IntervalChain {
  struct Link {
    int interval = 0;  // index into the solved intervals
    int variant = 0;   // index into the prices of its structure
    friend bool operator==(const Link&, const Link&) = default;
  };
  std::vector<Link> links;
  double cost_us = 0;  // the sum over the links
};

// The cheapest chain, F[j] = best of F[i] + interval [i, j) (AutoGraph, AAAI 2023, figure 4), and
// up to chains_max - 1 others that are worth measuring beside it: first, for each rule that the
// cheapest one owes something to, the cheapest without it; then the cheapest with another variant
// of one structure, at all of its places. What changes takes at least a tenth of the time in each:
// where profiles are wrong by a fifth that is 2 % of the whole, and measuring cannot tell less
// apart. No two chains cost the same. Each group stands cheapest first. Pure; equal arguments give
// equal chains, in equal order.
//
// The sum of the parts' costs is an upper bound for the whole, exact where one tensor crosses each
// cut. Of equally cheap chains the one with fewer links is taken.
// Three leaves with single costs 4, 4, 4 and a union [0, 2) that some rule brought from 8 to 6: the
// cheapest chain is the union and then leaf 2, for 10; without the rule it is the three leaves, or
// the union as it was, for 12.
// REQUIRES: every single leaf is an interval and has a variant; chains_max is positive.
std::vector<IntervalChain> ChooseIntervals(int leaf_count,
                                           const std::vector<SolvedInterval>& intervals,
                                           const StructurePrices& prices, int chains_max);

}  // namespace plait
