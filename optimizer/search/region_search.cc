#include "optimizer/search/region_search.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/parallel_for.h"
#include "base/status_macros.h"
#include "optimizer/kernels/kernel_key.h"
#include "optimizer/search/interval_dp.h"
#include "optimizer/search/region.h"

namespace plait {
namespace {

Fingerprint StructureOf(const Graph& graph) {
  std::vector<NodeId> nodes(graph.node_count());
  std::iota(nodes.begin(), nodes.end(), 0);
  return StructureFingerprint(graph, nodes);
}

// Between two looks at the budget: half a second of building and pricing graphs.
constexpr int64_t kNodesPerStep = 20'000;

class RegionSearch {
 public:
  RegionSearch(const Graph& graph, const RegionSearchOptions& options, const SearchDevice& device,
               BudgetedProfiles& profiles, SolvedRegions& solved)
      : graph_(graph), options_(options), device_(device), profiles_(profiles), searched_(solved) {}

  absl::StatusOr<RegionSearchResult> Run() {
    MakeRegions();
    PLAIT_RETURN_IF_ERROR(SolveRegions());
    CollectSolutions();
    PLAIT_RETURN_IF_ERROR(PutTogether());
    return std::move(result_);
  }

 private:
  // A region of the graph, and which search answers for its structure.
  struct Place {
    Region region;
    Graph graph;
    int search = 0;
  };

  void MakeRegions() {
    if (options_.whole_graph) {
      partition_.leaves.emplace_back(graph_.node_count());
      std::iota(partition_.leaves[0].begin(), partition_.leaves[0].end(), 0);
      partition_.intervals = {{0, 1}};
    } else {
      std::vector<std::vector<NodeId>> touched;
      MatchIndex(graph_).ForEachMatch(options_.backtracking.rules, [&](const Match& match) {
        touched.push_back(NodesTouchedBy(graph_, match));
      });
      partition_ = PartitionGraph(graph_, touched, options_.partition);
      result_.trace += PrintPartition(partition_);
    }
    for (const Interval& interval : partition_.intervals) {
      Place place;
      place.region = MakeRegion(graph_, NodesOf(partition_, interval));
      place.graph = ExtractRegion(graph_, place.region);
      places_.push_back(std::move(place));
    }
    StartSearches();
    result_.regions = static_cast<int>(places_.size());
    result_.regions_solved = static_cast<int>(begun_.size());
  }

  // One per structure. Those of the shortest intervals come first, and profiles are measured in
  // this order: when the budget ends, rather all leaves are priced than a few unions.
  void StartSearches() {
    std::vector<size_t> shortest_first(places_.size());
    std::iota(shortest_first.begin(), shortest_first.end(), size_t{0});
    const auto leaves_of = [&](size_t place) {
      return partition_.intervals[place].end - partition_.intervals[place].first;
    };
    std::stable_sort(shortest_first.begin(), shortest_first.end(),
                     [&](size_t a, size_t b) { return leaves_of(a) < leaves_of(b); });
    absl::flat_hash_map<Fingerprint, int> search_of;
    for (const size_t index : shortest_first) {
      Place& place = places_[index];
      const Fingerprint structure = StructureOf(place.graph);
      const auto [entry, is_new] = search_of.emplace(structure, static_cast<int>(searches_.size()));
      if (is_new) searches_.push_back(SearchOf(structure, place.graph));
      place.search = entry->second;
    }
  }

  // The one that an earlier graph began, or a new one.
  Backtracking* SearchOf(const Fingerprint& structure, const Graph& region) {
    std::shared_ptr<Backtracking>& search = searched_[structure];
    if (search == nullptr) {
      search = std::make_shared<Backtracking>(region, options_.backtracking, device_);
      begun_.push_back(search.get());
    }
    return search.get();
  }

  std::vector<Backtracking*> Unfinished() const {
    std::vector<Backtracking*> unfinished;
    for (Backtracking* const search : begun_) {
      if (!search->finished()) unfinished.push_back(search);
    }
    return unfinished;
  }

  absl::Status SolveRegions() {
    std::vector<Backtracking*> active = Unfinished();
    while (!active.empty() && !profiles_.exhausted()) {
      std::vector<std::vector<ProfileQuery>> missing(active.size());
      std::vector<absl::Status> statuses(active.size());
      const int64_t nodes_each = kNodesPerStep / static_cast<int64_t>(active.size());
      ParallelFor(options_.threads, static_cast<int>(active.size()), [&](int index) {
        statuses[index] = active[index]->Advance(std::max(nodes_each, int64_t{1}), &missing[index]);
      });
      std::vector<ProfileQuery> queries;
      for (size_t i = 0; i < active.size(); ++i) {
        PLAIT_RETURN_IF_ERROR(statuses[i]);
        queries.insert(queries.end(), std::make_move_iterator(missing[i].begin()),
                       std::make_move_iterator(missing[i].end()));
      }
      active = Unfinished();
      if (queries.empty() && !active.empty()) profiles_.TakeStep();
      PLAIT_RETURN_IF_ERROR(profiles_.Resolve(std::move(queries)));
    }
    ParallelFor(options_.threads, static_cast<int>(begun_.size()),
                [&](int index) { begun_[index]->Conclude(kNodesPerStep); });
    return absl::OkStatus();
  }

  void CollectSolutions() {
    for (const Backtracking* const search : begun_) result_.candidates += search->candidates();
    for (const Backtracking* const search : searches_) {
      variants_.push_back(search->BestVariants());
      std::vector<VariantPrice>& prices = prices_.emplace_back();
      for (const RegionVariant& variant : variants_.back()) {
        prices.push_back({variant.latency_us, RulesOf(variant.steps)});
      }
    }
    for (size_t i = 0; i < places_.size(); ++i) {
      solved_.push_back({partition_.intervals[i], places_[i].search});
      TraceIfCutShort(places_[i]);
    }
  }

  // What more budget would try. Once for each place: a reader looks for nodes, not for structures.
  void TraceIfCutShort(const Place& place) {
    const Backtracking& search = *searches_[place.search];
    if (!search.is_cut_short()) return;
    const auto text = [&](NodeId id) {
      const Node& node = graph_.node(id);
      return absl::StrCat(OpKindName(node.op), node.name == nullptr ? "" : " ",
                          node.name == nullptr ? "" : *node.name);
    };
    absl::StrAppendFormat(&result_.trace,
                          "not exhausted: region of nodes %d to %d (%s to %s), %d graphs priced, "
                          "at least %d more found when the budget ended\n",
                          place.region.nodes.front(), place.region.nodes.back(),
                          text(place.region.nodes.front()), text(place.region.nodes.back()),
                          search.candidates(), search.waiting());
  }

  // A region's variant at one of its places.
  struct Repeated {
    Graph graph;
    RuleCounts counts;
    std::vector<RewriteStep> steps;
    double cost_us = 0;
  };

  // The variant that another region of the same structure was searched for. Where a rule sees a
  // difference after all, such as weights that are equal by chance, the region stays as it is.
  const Repeated& VariantAt(const IntervalChain::Link& link) {
    const auto [entry, is_new] = repeated_.try_emplace({link.interval, link.variant});
    Repeated& repeated = entry->second;
    if (!is_new) return repeated;
    const Place& place = places_[link.interval];
    const RegionVariant& variant = variants_[place.search][link.variant];
    absl::StatusOr<Graph> graph =
        RepeatSteps(place.graph, options_.backtracking.rules, variant.steps, &repeated.counts);
    if (graph.ok() && StructureOf(*graph) == StructureOf(variant.graph)) {
      repeated.graph = *std::move(graph);
      repeated.steps = variant.steps;
      repeated.cost_us = variant.latency_us;
      return repeated;
    }
    const std::optional<double> cost_us =
        KnownRegionCostUs(place.graph, device_, options_.backtracking.cost_model);
    repeated = {place.graph, {}, {}, cost_us.value_or(std::numeric_limits<double>::infinity())};
    ++result_.regions_not_repeated;
    absl::StrAppend(&result_.trace, "region of nodes ", place.region.nodes.front(), " to ",
                    place.region.nodes.back(), " stays as it is: steps do not repeat\n");
    return repeated;
  }

  // The graph that a chain makes of its regions; nullopt when two graph outputs became one tensor,
  // which cannot have both names.
  absl::StatusOr<std::optional<RewrittenGraph>> GraphOf(const IntervalChain& chain) {
    std::vector<Region> regions;
    std::vector<Graph> replacements;
    RewrittenGraph rewritten;
    RewriteRecipe::Round& pieces = rewritten.recipe.rounds.emplace_back();
    for (const IntervalChain::Link& link : chain.links) {
      const Repeated& repeated = VariantAt(link);
      regions.push_back(places_[link.interval].region);
      replacements.push_back(repeated.graph);
      pieces.push_back({regions.back().nodes, repeated.steps});
      rewritten.estimate_us += repeated.cost_us;
      for (const auto& [rule, count] : repeated.counts) rewritten.counts[rule] += count;
    }
    if (rewritten.counts.empty()) {
      // Put together again its nodes could be in another order, to which no recipe leads.
      rewritten.graph = graph_;
      rewritten.recipe = {};
      return rewritten;
    }
    const absl::StatusOr<Graph> stitched = Stitch(graph_, regions, replacements);
    if (!stitched.ok()) return std::nullopt;
    PLAIT_ASSIGN_OR_RETURN(rewritten.graph,
                           Canonicalize(*stitched, options_.backtracking.rules, &rewritten.counts));
    return rewritten;
  }

  absl::Status PutTogether() {
    absl::flat_hash_set<Fingerprint> known;
    // Many chains give the same graph by other intervals, so more are asked for than are wanted.
    const int chains_max = 8 * options_.graphs_max;
    for (const IntervalChain& chain : ChooseIntervals(static_cast<int>(partition_.leaves.size()),
                                                      solved_, prices_, chains_max)) {
      if (static_cast<int>(result_.graphs.size()) == options_.graphs_max) break;
      PLAIT_ASSIGN_OR_RETURN(std::optional<RewrittenGraph> rewritten, GraphOf(chain));
      if (!rewritten.has_value()) continue;
      if (!known.insert(rewritten->graph.fingerprint()).second) continue;
      // Nothing to compare: whoever searches has the graph itself.
      const bool is_itself = rewritten->graph.fingerprint() == graph_.fingerprint();
      if (is_itself && !result_.graphs.empty()) continue;
      Trace(*rewritten);
      result_.graphs.push_back(*std::move(rewritten));
    }
    return absl::OkStatus();
  }

  void Trace(const RewrittenGraph& rewritten) {
    absl::StrAppendFormat(&result_.trace, "rewritten, %.6g us:", rewritten.estimate_us);
    for (const auto& [rule, count] : rewritten.counts) {
      absl::StrAppend(&result_.trace, " ", rule, " x", count);
    }
    result_.trace += "\n";
  }

  const Graph& graph_;
  const RegionSearchOptions& options_;
  const SearchDevice& device_;
  BudgetedProfiles& profiles_;
  SolvedRegions& searched_;
  Partition partition_;
  std::vector<Place> places_;                         // one per interval
  std::vector<Backtracking*> searches_;               // one per structure
  std::vector<Backtracking*> begun_;                  // those among them that are not finished
  std::vector<std::vector<RegionVariant>> variants_;  // per search
  StructurePrices prices_;                            // per search
  std::vector<SolvedInterval> solved_;                // one per interval
  // By interval and variant: what chains have asked for so far.
  std::map<std::pair<int, int>, Repeated> repeated_;
  RegionSearchResult result_;
};

}  // namespace

absl::StatusOr<RegionSearchResult> SearchRegions(const Graph& graph,
                                                 const RegionSearchOptions& options,
                                                 const SearchDevice& device,
                                                 BudgetedProfiles& profiles,
                                                 SolvedRegions* solved) {
  return RegionSearch(graph, options, device, profiles, *solved).Run();
}

}  // namespace plait
