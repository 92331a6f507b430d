#include "optimizer/search/optimize.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "optimizer/search/optimize_whole.h"
#include "optimizer/search/region.h"

namespace plait {
namespace {

bool IsOpaque(const Graph& graph, NodeId node) { return graph.node(node).op == OpKind::kOpaque; }

// Runs of nodes that are all opaque or all not, in topological order. An interval of a topological
// order is convex, so each run is a region.
std::vector<Region> RunsOf(const Graph& graph) {
  std::vector<std::vector<NodeId>> runs;
  for (NodeId node = 0; node < graph.node_count(); ++node) {
    const bool starts_run =
        runs.empty() || IsOpaque(graph, node) != IsOpaque(graph, runs.back().back());
    if (starts_run) runs.emplace_back();
    runs.back().push_back(node);
  }
  std::vector<Region> regions;
  for (std::vector<NodeId>& run : runs) regions.push_back(MakeRegion(graph, std::move(run)));
  return regions;
}

// Shows an island's progress as its share of the whole.
class IslandProgress : public ProgressSink {
 public:
  IslandProgress(ProgressSink& sink, size_t island, size_t count)
      : sink_(sink), island_(static_cast<double>(island)), count_(static_cast<double>(count)) {}

  void OnPhase(absl::string_view phase, double fraction) override {
    sink_.OnPhase(phase, OfWhole(fraction));
  }
  // Speed-ups of one island say nothing about the whole.
  void OnFraction(double fraction, double seconds_left) override {
    sink_.OnFraction(OfWhole(fraction), seconds_left);
  }

 private:
  double OfWhole(double fraction) const { return (island_ + fraction) / count_; }

  ProgressSink& sink_;
  double island_;
  double count_;
};

void AddSamples(std::vector<double>& sums_us, const std::vector<double>& samples_us, bool first) {
  if (first) {
    sums_us = samples_us;
    return;
  }
  sums_us.resize(std::min(sums_us.size(), samples_us.size()));
  for (size_t i = 0; i < sums_us.size(); ++i) sums_us[i] += samples_us[i];
}

// Adds what was found out about one island to what is known about the whole graph.
void AddIsland(SearchResult& whole, const SearchResult& island) {
  const bool first = whole.islands == 0;
  ++whole.islands;
  AddSamples(whole.baseline_latency_us, island.baseline_latency_us, first);
  AddSamples(whole.optimized_latency_us, island.optimized_latency_us, first);
  whole.predicted_baseline_us += island.predicted_baseline_us;
  whole.predicted_us += island.predicted_us;
  whole.baseline_load_ms += island.baseline_load_ms;
  whole.load_ms += island.load_ms;
  whole.candidates += island.candidates;
  whole.regions += island.regions;
  whole.regions_solved += island.regions_solved;
  whole.candidates_measured += island.candidates_measured;
  whole.fallback_nodes += island.fallback_nodes;
  whole.baseline_fallback_nodes += island.baseline_fallback_nodes;
  whole.budget_exhausted |= island.budget_exhausted;
  whole.seconds_needed += island.seconds_needed;
  whole.task_too_long |= island.task_too_long;
  for (const auto& [rule, count] : island.rules_applied) whole.rules_applied[rule] += count;
  absl::StrAppend(&whole.trace, "island ", whole.islands, "\n", island.trace);
  // An island that stays as it is says nothing about one that was changed.
  if (!island.improved && (whole.improved || !first)) return;
  Equivalence& equivalence = whole.equivalence;
  const Equivalence& found = island.equivalence;
  if (!whole.improved) {
    equivalence = found;
  } else {
    equivalence.max_abs_error = std::max(equivalence.max_abs_error, found.max_abs_error);
    equivalence.max_rel_error = std::max(equivalence.max_rel_error, found.max_rel_error);
    equivalence.max_channel_error =
        std::max(equivalence.max_channel_error, found.max_channel_error);
    equivalence.inputs_tried = std::min(equivalence.inputs_tried, found.inputs_tried);
    equivalence.dead_outputs |= found.dead_outputs;
  }
  whole.improved |= island.improved;
  // One searched island makes the whole a searched one.
  if (!island.improved) return;
  if (whole.origin != "searched") whole.origin = island.origin;
  whole.schedule = island.schedule;
}

// What is searched for in an island. The pieces may be equal one by one, but the whole was never
// run: where that is not accepted only the baselines are measured.
SearchOptions IslandOptions(SearchOptions options) {
  if (!options.verification.accept_inconclusive) options.search = "none";
  return options;
}

// A graph with opaque nodes cannot run as a whole: what lies between them is optimized and verified
// piece by piece.
absl::StatusOr<SearchResult> OptimizeIslands(const Graph& graph, const SearchOptions& options,
                                             const SearchContext& context,
                                             BudgetedProfiles& profiles) {
  PLAIT_RETURN_IF_ERROR(CheckSearchPolicy(options.search));
  const std::vector<Region> regions = RunsOf(graph);
  std::vector<Graph> replacements;
  SearchResult whole;
  for (size_t i = 0; i < regions.size(); ++i) {
    Graph island = ExtractRegion(graph, regions[i]);
    if (!IsOpaque(graph, regions[i].nodes.front())) {
      IslandProgress progress(context.progress, i, regions.size());
      const SearchContext inner{context.device,   context.catalog,  context.schedule_device,
                                context.profiles, context.verifier, context.budget,
                                context.log,      progress,         context.load_effect};
      PLAIT_ASSIGN_OR_RETURN(const SearchResult result,
                             OptimizeWhole(island, IslandOptions(options), inner, profiles));
      AddIsland(whole, result);
      island = result.graph;
    }
    replacements.push_back(std::move(island));
  }
  // Those of islands are not the graph's.
  whole.equivalence.outputs.clear();
  PLAIT_ASSIGN_OR_RETURN(whole.graph, Stitch(graph, regions, replacements));
  if (whole.improved) {
    // Sums over islands that were loaded apart: no two rounds are known to share a load.
    whole.load_rounds = {static_cast<int>(whole.baseline_latency_us.size())};
    whole.speedup =
        EstimateSpeedup({whole.baseline_latency_us, whole.optimized_latency_us, whole.load_rounds},
                        context.load_effect);
  }
  context.progress.OnPhase("done", 1);
  return whole;
}

}  // namespace

absl::StatusOr<SearchResult> Optimize(const Graph& graph, const SearchOptions& options,
                                      const SearchContext& context) {
  if (graph.node_count() > kSearchNodesMax) {
    return absl::ResourceExhaustedError(absl::StrCat("the graph has ", graph.node_count(),
                                                     " nodes, the search takes at most ",
                                                     kSearchNodesMax));
  }
  BudgetedProfiles profiles(context.profiles, context.budget, context.log);
  for (NodeId node = 0; node < graph.node_count(); ++node) {
    if (IsOpaque(graph, node)) return OptimizeIslands(graph, options, context, profiles);
  }
  return OptimizeWhole(graph, options, context, profiles);
}

}  // namespace plait
