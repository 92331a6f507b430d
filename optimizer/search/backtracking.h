#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "optimizer/search/match_index.h"
#include "optimizer/search/region_pricer.h"
#include "optimizer/search/rewrite_steps.h"

namespace plait {

// How far one region's search goes.
// With relaxation 1 the search only ever goes down; every part above it lets it climb out of a
// hollow that much deep.
struct BacktrackingOptions {
  RuleList rules;  // in search order, which decides between equals
  CostModel cost_model = CostModel::kCriticalPath;
  // 1.05: a graph up to 5 % slower than the best may still lead to a better one (TASO, SOSP 2019).
  double relaxation = 1.05;
  int expanded_max = 100;  // graphs whose neighbours are looked at
  int queue_max = 200;     // graphs that wait for it; the worst are dropped
  int variants_max = 4;    // graphs returned, no two by the same set of rules
  // Prices every graph by all of its kernels too, and crashes where that differs. For tests: it
  // takes as long as a search that takes nothing over from graph to graph.
  bool checks_prices = false;
};

// A graph equal to the region, and how to get there.
// A value: it does not refer to the search that found it.
struct RegionVariant {
  Graph graph;
  std::vector<RewriteStep> steps;  // from the region to the graph, for RepeatSteps
  RuleCounts counts;               // those of the normal form included
  double latency_us = 0;           // as RegionCostUs says
};

// Best-first search with backtracking (MetaFlow, MLSys 2019, algorithm 1; TASO, SOSP 2019) over
// graphs that equal one region: repeatedly takes the cheapest graph that has not been expanded, and
// keeps every new neighbour that costs less than `relaxation` times the best. A graph is visited
// once, known by its fingerprint. Whoever owns the search brings the profiles: Advance stops where
// one is missing and goes on when it is there, so that many regions can share one batch of
// measurements. The result depends on the region, the options and the profiles alone. Not
// thread-safe, but different searches may advance on different threads.
class Backtracking {
 public:
  // `options`, `device` and what they refer to must outlive the search; the region is its own.
  Backtracking(Graph region, const BacktrackingOptions& options, const SearchDevice& device);

  // Goes on until the search is finished, profiles are missing, which are appended to `missing`, or
  // the graphs that it has built and priced have `nodes_max` nodes together: at least one of them
  // is. Called again before missing profiles are known, it changes nothing and asks for the same.
  // Expands graphs one after the other and prices what it finds; does nothing once it is finished.
  // Errors: Internal when a rule produced a wrong rewrite, naming the rule.
  absl::Status Advance(int64_t nodes_max, std::vector<ProfileQuery>* missing);

  bool finished() const { return finished_; }

  // Finishes the search where it is, when the budget has ended: prices what was found by the
  // profiles that there are, as far as nodes_max nodes go but at least one graph, and expands
  // nothing.
  void Conclude(int64_t nodes_max);

  // The best variants so far, cheapest first, of each set of rules the best and among them the
  // region itself; asked at any time. Without any (the region itself
  // could not be priced) the region alone, at an infinite cost: whatever was priced is preferred.
  std::vector<RegionVariant> BestVariants() const;

  int64_t candidates() const { return candidates_; }  // graphs priced

  // Whether Conclude ended it before all was tried, and then what a larger budget would look at
  // next: graphs that were found and neither priced nor expanded.
  bool is_cut_short() const { return is_cut_short_; }
  int64_t waiting() const { return waiting_; }

 private:
  // A priced graph, ordered by cost; the one found first comes first among equals.
  struct Entry {
    RegionVariant variant;
    int64_t number = 0;                           // order of discovery; breaks ties
    std::shared_ptr<const GraphKernels> kernels;  // of the variant
    bool operator<(const Entry& other) const {
      return std::make_pair(variant.latency_us, number) <
             std::make_pair(other.variant.latency_us, other.number);
    }
  };

  // Each takes the nodes of what it has looked at off `nodes_left`, which may go below zero.
  // Builds the next neighbour of the graph that is being expanded, if it is worth a price.
  absl::Status BuildNext(int64_t& nodes_left);
  // Prices graphs of `pending_` until no nodes are left. When profiles are missing, none of them is
  // priced: the search is asked again.
  void PricePending(int64_t& nodes_left, std::vector<ProfileQuery>* missing);
  // Empties `pending_` into the queue, when all of it is priced: the order in which graphs enter
  // depends on no profile's coming.
  void AcceptPending();
  void Accept(RegionVariant variant, std::shared_ptr<const GraphKernels> kernels);
  void KeepIfBest(const Entry& entry);
  void ExpandBest();
  // What a finished search needs no more; its owner keeps it for what it has found.
  void Forget();
  bool CannotPay(const Graph& parent, int64_t parent_flops, const Rewrite& rewrite) const;
  double BestUs() const { return best_.begin()->variant.latency_us; }

  // The order of rules, costs and discovery decides everything: no container here is walked by
  // hash.
  const BacktrackingOptions& options_;
  const SearchDevice& device_;
  Graph region_;
  int nodes_max_;  // no variant may be larger
  RegionPricer pricer_;
  RegionVariant parent_;  // being expanded, as long as matches are left
  std::optional<PricedGraph> priced_parent_;
  int64_t parent_flops_ = 0;
  std::vector<Match> matches_;          // of the parent
  size_t next_match_ = 0;               // those before have been looked at
  std::vector<RegionVariant> pending_;  // found, not in the queue yet
  // Of the first of `pending_`; no cost is the cost of what cannot run.
  std::vector<RegionPrice> prices_;
  std::set<Entry> queue_;  // priced, not expanded yet
  std::set<Entry> best_;   // never more than variants_max, the best by each set of rules
  // Graphs in normal form, and what rewrites made on the way to them: a graph that is not in normal
  // form is never equal to one that is.
  absl::flat_hash_set<Fingerprint> visited_;
  int64_t candidates_ = 0;
  int64_t discovered_ = 0;
  int expanded_ = 0;
  bool finished_ = false;
  bool is_cut_short_ = false;
  int64_t waiting_ = 0;
};

}  // namespace plait
