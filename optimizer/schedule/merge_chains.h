#pragma once

#include <vector>

#include "optimizer/schedule/policy.h"
#include "optimizer/schedule/reachability.h"

namespace plait {

// How many chains there are: one more than the greatest number. 0 without launches.
int ChainCount(const std::vector<int>& chain_of);

// Streams for more chains than a device has streams, by launch. Gives each chain, in the order of
// their numbers, to the stream that has the least work so far that could have run beside it, which
// is what is lost; among equals to the one with the least work in all. Pure. O(launches * chains *
// log(launches)).
// REQUIRES: chain_of[i] is the number of the chain that launch i is in; each launch of a chain
// reaches the next one; streams_max is 1 or more.
std::vector<int> MergeChains(const ScheduleProblem& problem, const Reachability& reachability,
                             const std::vector<int>& chain_of, int streams_max);

}  // namespace plait
