#include "optimizer/search/optimize.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/statistics.h"
#include "base/status_macros.h"
#include "optimizer/search/optimize_whole.h"
#include "optimizer/search/region.h"
#include "optimizer/search/search_policy.h"
#include "optimizer/search/segments.h"

namespace plait {
namespace {

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

// Adds times round by round. Rounds of islands have nothing to do with each other: of whichever has
// fewer, they are taken again.
void AddRounds(std::vector<double>& whole_us, const std::vector<double>& island_us) {
  if (island_us.empty()) return;
  const size_t known = whole_us.size();
  whole_us.resize(std::max(known, island_us.size()));
  for (size_t i = known; known > 0 && i < whole_us.size(); ++i) whole_us[i] = whole_us[i - known];
  for (size_t i = 0; i < whole_us.size(); ++i) whole_us[i] += island_us[i % island_us.size()];
}

// One that says less wins: all pieces have to be equal for the whole to be.
void AddEquivalence(Equivalence& whole, const Equivalence& island) {
  if (island.verdict != Verdict::kEquivalent) whole.verdict = island.verdict;
  whole.max_abs_error = std::max(whole.max_abs_error, island.max_abs_error);
  whole.max_rel_error = std::max(whole.max_rel_error, island.max_rel_error);
  whole.max_channel_error = std::max(whole.max_channel_error, island.max_channel_error);
  whole.exact_ratio = std::max(whole.exact_ratio, island.exact_ratio);
  whole.inputs_tried = std::min(whole.inputs_tried, island.inputs_tried);
  whole.dead_outputs |= island.dead_outputs;
}

// Adds what was found out about one island to what is known about the whole graph.
void AddIsland(SearchResult& whole, const Graph& original, const SearchResult& island) {
  const bool first = whole.islands.empty();
  whole.islands.push_back({original, island.baseline_plan, island.graph, island.plan});
  AddRounds(whole.baseline_latency_us, island.baseline_latency_us);
  AddRounds(whole.optimized_latency_us, island.optimized_latency_us);
  whole.predicted_baseline_us += island.predicted_baseline_us;
  whole.predicted_us += island.predicted_us;
  // Equally many, of the same constants each.
  AddRounds(whole.baseline_draws_us, island.baseline_draws_us);
  AddRounds(whole.optimized_draws_us, island.optimized_draws_us);
  whole.baseline_load_ms += island.baseline_load_ms;
  whole.load_ms += island.load_ms;
  whole.candidates += island.candidates;
  whole.regions += island.regions;
  whole.regions_solved += island.regions_solved;
  whole.candidates_measured += island.candidates_measured;
  whole.budget_exhausted |= island.budget_exhausted;
  whole.seconds_needed += island.seconds_needed;
  whole.task_too_long |= island.task_too_long;
  for (const auto& [rule, count] : island.rules_applied) whole.rules_applied[rule] += count;
  whole.plan_times.insert(whole.plan_times.end(), island.plan_times.begin(),
                          island.plan_times.end());
  whole.refused.insert(whole.refused.end(), island.refused.begin(), island.refused.end());
  absl::StrAppend(&whole.trace, "island ", whole.islands.size(), "\n", island.trace);
  // An island that stays as it is says nothing about one that was changed.
  if (!island.improved && (whole.improved || !first)) return;
  if (whole.improved) {
    AddEquivalence(whole.equivalence, island.equivalence);
  } else {
    whole.equivalence = island.equivalence;
  }
  whole.improved |= island.improved;
  // One searched island makes the whole a searched one.
  if (!island.improved) return;
  if (whole.origin != "searched") whole.origin = island.origin;
  whole.schedule = island.schedule;
}

// How far an error of one piece grows in what follows is not known.
SearchOptions IslandOptions(SearchOptions options) {
  options.rel_error_max = 0;
  return options;
}

// A graph with opaque nodes cannot run as a whole: what lies between them is optimized and verified
// piece by piece.
absl::StatusOr<SearchResult> OptimizeIslands(const Graph& graph, const SearchOptions& options,
                                             const SearchContext& context,
                                             BudgetedProfiles& profiles) {
  PLAIT_RETURN_IF_ERROR(FindSearchPolicy(options.search).status());
  const std::vector<Segment> segments = SegmentsOf(graph);
  const auto is_island = [](const Segment& segment) { return !segment.is_host; };
  const auto count =
      static_cast<size_t>(std::count_if(segments.begin(), segments.end(), is_island));
  std::vector<Region> regions;
  std::vector<Graph> replacements;
  std::vector<PartSpeedup> parts;
  SearchResult whole;
  for (const Segment& segment : segments) {
    Graph piece = ExtractRegion(graph, segment.region);
    if (!segment.is_host) {
      IslandProgress progress(context.progress, whole.islands.size(), count);
      const SearchContext inner{.device = context.device,
                                .catalog = context.catalog,
                                .profiles = context.profiles,
                                .verifier = context.verifier,
                                .budget = context.budget,
                                .log = context.log,
                                .progress = progress,
                                .load_effect = context.load_effect,
                                .is_predicted = context.is_predicted};
      PLAIT_ASSIGN_OR_RETURN(const SearchResult result,
                             OptimizeWhole(piece, IslandOptions(options), inner, profiles));
      const double before_us =
          context.is_predicted ? result.predicted_baseline_us : Median(result.baseline_latency_us);
      parts.push_back({before_us, result.speedup});
      AddIsland(whole, piece, result);
      piece = result.graph;
    }
    regions.push_back(segment.region);
    replacements.push_back(std::move(piece));
  }
  // Those of islands are not the graph's.
  whole.equivalence.outputs.clear();
  PLAIT_ASSIGN_OR_RETURN(whole.graph, Stitch(graph, regions, replacements, OutputNames::kMayJoin));
  whole.speedup = CombinedSpeedup(parts);
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
  const bool has_opaque = std::any_of(graph.nodes().begin(), graph.nodes().end(),
                                      [](const Node& node) { return node.op == OpKind::kOpaque; });
  if (has_opaque) return OptimizeIslands(graph, options, context, profiles);
  return OptimizeWhole(graph, options, context, profiles);
}

}  // namespace plait
