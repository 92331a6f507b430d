#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "optimizer/search/budget.h"
#include "optimizer/search/progress_sink.h"
#include "optimizer/search/region_search.h"
#include "optimizer/search/rewrite_recipe.h"
#include "optimizer/search/search_device.h"
#include "optimizer/search/verify_candidates.h"

// Map of this folder, from the outside in. Read each header before its .cc; the .cc files open with
// a worked example.
//   optimize         cuts a graph at opaque nodes (segments); optimize_whole then does the work:
//   baseline,
//                    rewrites, plans, verification
//   region_search    one graph's rewrites: partition (with min_cut), backtracking in each region
//                    (with match_index, rewrite_steps, region_cost), interval_dp over the regions
//   region           a piece of a graph as a graph, and back
//   rewrite_recipe   the rewrites that were chosen, to be repeated; kept_plans: those of a file
//   plan_graph       one rewritten graph's plans: cover, schedule, simulate
//   predicted_plan   a graph's plan without measuring
//   admit_plans      keeps out of plans what has not fp32 accuracy (with ranked_plan)
//   fit_precision    lets plans lose as much of it as is allowed
//   verify_candidates  the device decides (with verifier, measure_batch, speedup)
//   verify_predicted   predictions decide, for a device that is only described
//   refusal          what was not good enough, and why
//   check_shapes     whether it is right at other shapes too, bound to them (with rebind_target)
//   progress_sink    how far a search is, for those who wait
//   budget, parallel   when to stop, and how to use several processors
namespace plait {

// What a search may do and how far it goes. A value; equal options, rules and measurement logs give
// equal results.
struct SearchOptions {
  // "none": the baseline as it is. "normal_form": rules that always win, then cover and schedule.
  // "taso": sum of kernel times, no partition. "autograph":
  // partition, critical-path cost. The cost of whole graphs decides what is verified, first the
  // shortest plan of each graph, then the second ones. "plait": as autograph, but the simulated
  // makespan of whole plans decides. "autograph_no_dp", "autograph_no_partition" and
  // "autograph_no_path" (alpha = 0): autograph without a part of itself. "plait_generated": plait
  // with GeneratedRules().
  std::string search = "plait";
  std::string schedule = "plait";  // a scheduling policy's name
  RuleList rules;                  // AllRules() outside of tests
  int threads = 1;                 // of the search itself; the result does not depend on it
  std::string engine_version;      // written into plans, never interpreted here
  // 6: the simulator's order is good but not perfect, and each further plan costs device time.
  int candidates_max = 6;  // plans verified on the device, beside the baseline
  // How far outputs may be from the baseline's (see fit_precision.h), where plans may lose
  // accuracy. 0: they may not, and every kernel has that of fp32.
  double rel_error_max = 0;
  std::string precision = "auto";  // of such plans, never interpreted here
  PartitionOptions partition;
  BacktrackingOptions backtracking;  // rules and cost model are set by the search
  VerificationOptions verification;
};

// What a search works with; all of it must outlive the search.
// References only: a context is made for one call of Optimize.
struct SearchContext {
  // `device` is what plans are bound to, `catalog` what it can run as one kernel.
  const DeviceDescription& device;
  const KernelCatalog& catalog;
  ProfileCache& profiles;  // called from the search's own thread, as are the next three
  Verifier& verifier;
  Budget& budget;
  MeasurementLog& log;  // the same that `profiles` writes to
  ProgressSink& progress;
  LoadEffect load_effect = {};  // of the device
  // The model as it came in at other shapes of its inputs: what is returned is compared there too,
  // bound to them. Not with opaque nodes.
  absl::Span<const Graph> other_shapes = {};
  // The device is only described: profiles are predictions, the verifier compares outputs and times
  // nothing, and predicted times decide (VerifyPredicted). Not with other shapes.
  bool is_predicted = false;
};

// A graph that the search ranked among the best, with the rules on the way to it.
struct KeptGraph {
  Graph graph;
  RuleCounts rules_applied;
};

// How many are kept besides the one that is returned.
inline constexpr int kKeptGraphsMax = 3;

// How one island of a graph with opaque nodes runs.
struct PlannedIsland {
  Graph original;  // what it was: its inputs and outputs have the names that they have in the whole
  Plan baseline_plan;
  Graph graph;  // with the same inputs and outputs
  Plan plan;
};

// What came out. Latencies are microseconds of the whole graph.
struct SearchResult {
  Graph graph;  // the input graph when nothing beat it
  Plan plan;    // how to run it; without steps when there are opaque nodes
  Plan baseline_plan;
  // With opaque nodes: the pieces between them, in the order of SegmentsOf, which were optimized
  // and verified one by one; latencies and predictions are then sums over the pieces, whose rounds
  // are not each other's. None: the graph was verified as a whole.
  std::vector<PlannedIsland> islands;
  bool improved = false;  // false: the baseline was returned

  // Where the graph comes from: "baseline", "normal_form" (only rules that always win) or
  // "searched".
  std::string origin = "baseline";
  std::string schedule = "sequential";  // the policy that placed the plan's kernels

  // None where the device is only described; the speed-up is then that of the predictions.
  std::vector<double> baseline_latency_us;   // samples of the deciding batch,
  std::vector<double> optimized_latency_us;  // paired by index
  double baseline_load_ms = 0;               // the median of the loads of that batch
  double load_ms = 0;
  LoadEffect load_effect;  // that these loads showed; of none with islands
  Speedup speedup;         // all 1 when not improved
  // Of the optimized graph's outputs with those of the original, over several inputs.
  Equivalence equivalence;
  // The others among `other_shapes` at which they were equal, too, and those of which there was no
  // time to look.
  int shapes_equal = 0;
  int shapes_left = 0;

  double predicted_baseline_us = 0;  // by the simulator
  double predicted_us = 0;
  // The same in each draw of the constants of a device that is only described; see
  // VerificationOptions::predicted_draws_us.
  std::vector<double> baseline_draws_us;
  std::vector<double> optimized_draws_us;
  int64_t candidates = 0;  // graphs priced
  int regions = 0;         // see RegionSearchResult
  int regions_solved = 0;
  int candidates_measured = 0;  // plans that ran on the device, beside the baseline
  // Of those that gave times. Of islands: one island after the other.
  std::vector<PlanTimes> plan_times;
  RuleCounts rules_applied;  // on the way to `graph`; empty when not improved
  // From the normal form to `graph`: LeadsTo it, or empty.
  RewriteRecipe recipe;
  // Others than `graph` and the original, the best first: another runtime may like one of them.
  std::vector<KeptGraph> other_graphs;
  // What ran and was refused, the best prediction first, then kernels that were not accurate
  // enough. Of islands: one island after the other, each for itself.
  std::vector<Refusal> refused;
  bool budget_exhausted = false;
  // 0, or the seconds that verifying one candidate takes, for which there was no time: then the
  // baseline was returned, and something may have been faster.
  double seconds_needed = 0;
  // The baseline was returned because comparing takes longer than one task may (see
  // Budget::AllowsTask).
  bool task_too_long = false;
  std::string trace;  // what was decided and why, equal for equal logs
};

// Finds the fastest equivalent computation of `graph` that the search policy, the rules and the
// budget reach: canonicalize, partition, backtracking per region, dynamic program over intervals,
// cover, schedule, simulate, admit kernels by their measured errors, and verify the best few whole
// plans on the device beside the baseline.
// The baseline is the first candidate and stays when no other one is equal in its outputs and
// faster beyond the noise. Around opaque nodes that is done with each island by itself, at the
// accuracy of fp32 whatever the options say: how an error of one piece would grow in what follows
// was not measured. Deterministic: the result follows from the
// arguments and the measurement log. Blocks until the end; call it from one thread per context. The
// main loop is AutoGraph's (AAAI 2023, algorithm 1): the best graph is cut and searched anew until
// it stays the best. Errors: InvalidArgument for an
// unknown policy; ResourceExhausted above kSearchNodesMax nodes; FailedPrecondition for a node that
// the device cannot run; those of measuring and verifying; Internal for a wrong rule.
absl::StatusOr<SearchResult> Optimize(const Graph& graph, const SearchOptions& options,
                                      const SearchContext& context);

}  // namespace plait
