#include "optimizer/schedule/merge_chains.h"

#include <algorithm>
#include <utility>

// Three branches of 60, 10 and 50 us between a fork and a join, for two streams: the first two have
// a stream each. In line with the first the third would lose 60 us, with the second 10, so it joins
// the second.

namespace plait {
namespace {

// Or a chain that has none yet.
struct Stream {
  std::vector<int> launches;
  double us = 0;
};

// Whether some launch of the chain may run beside this one, which is not of it. Those that reach
// the launch are the chain's first ones, those that it reaches the last ones.
bool MayRunBesideChain(int launch, const std::vector<int>& chain,
                       const Reachability& reachability) {
  const auto next = std::partition_point(
      chain.begin(), chain.end(), [&](int member) { return reachability.Reaches(member, launch); });
  return next != chain.end() && !reachability.Reaches(launch, *next);
}

// Of the launches of a stream, those that may run beside some launch of the chain.
double UsBeside(const Stream& stream, const Stream& chain, const ScheduleProblem& problem,
                const Reachability& reachability) {
  double us = 0;
  for (const int launch : stream.launches) {
    if (!MayRunBesideChain(launch, chain.launches, reachability)) continue;
    us += problem.launches[launch].part.latency_us;
  }
  return us;
}

}  // namespace

int ChainCount(const std::vector<int>& chain_of) {
  return chain_of.empty() ? 0 : 1 + *std::max_element(chain_of.begin(), chain_of.end());
}

std::vector<int> MergeChains(const ScheduleProblem& problem, const Reachability& reachability,
                             const std::vector<int>& chain_of, int streams_max) {
  std::vector<Stream> chains(ChainCount(chain_of));
  for (size_t launch = 0; launch < chain_of.size(); ++launch) {
    Stream& chain = chains[chain_of[launch]];
    chain.launches.push_back(static_cast<int>(launch));
    chain.us += problem.launches[launch].part.latency_us;
  }
  std::vector<Stream> streams(streams_max);
  std::vector<int> stream_of(chain_of.size());
  for (const Stream& chain : chains) {
    std::pair<double, double> least;
    int best = -1;
    for (int stream = 0; stream < streams_max; ++stream) {
      const double lost_us = UsBeside(streams[stream], chain, problem, reachability);
      const std::pair<double, double> price = {lost_us, streams[stream].us};
      if (best >= 0 && price >= least) continue;
      least = price;
      best = stream;
    }
    streams[best].us += chain.us;
    for (const int launch : chain.launches) {
      streams[best].launches.push_back(launch);
      stream_of[launch] = best;
    }
  }
  return stream_of;
}

}  // namespace plait
