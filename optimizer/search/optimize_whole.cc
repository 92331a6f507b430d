#include "optimizer/search/optimize_whole.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/statistics.h"
#include "base/status_macros.h"
#include "optimizer/search/ranked_plan.h"
#include "optimizer/search/region_cost.h"

namespace plait {
namespace {

// 1.5 s: measuring a batch of kernels, or a stretch of search (see Budget).
constexpr double kSecondsPerStep = 1.5;

// What sets the search policies apart.
struct SearchPolicy {
  absl::string_view name;
  bool rewrites;  // false: only the baseline
  CostModel cost_model;
  bool whole_graph;          // no partition
  bool ranks_by_simulation;  // false: by the cost that the rewriting was guided by
};

constexpr SearchPolicy kSearchPolicies[] = {
#define PLAIT_SEARCH_POLICY(name, rewrites, cost_model, whole_graph, ranks_by_simulation) \
  {#name, rewrites, CostModel::cost_model, whole_graph, ranks_by_simulation},
#include "optimizer/search/policies.def"
#undef PLAIT_SEARCH_POLICY
};

absl::StatusOr<SearchPolicy> FindSearchPolicy(absl::string_view name) {
  std::string names;
  for (const SearchPolicy& policy : kSearchPolicies) {
    if (policy.name == name) return policy;
    absl::StrAppend(&names, names.empty() ? "" : ", ", policy.name);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("search policy \"", name, "\" does not exist: use one of ", names));
}

class Optimizer {
 public:
  Optimizer(const Graph& graph, const SearchOptions& options, const SearchContext& context,
            BudgetedProfiles& profiles)
      : graph_(graph),
        options_(options),
        context_(context),
        device_{context.device, context.catalog, context.profiles, context.schedule_device},
        binding_{context.device.fingerprint, options.engine_version, context.device.threads},
        profiles_(profiles) {
    device_.schedule.threads = context.device.threads;
    device_.schedule.streams_max =
        std::clamp(device_.schedule.streams_max, 1, std::max(1, context.device.threads));
  }

  absl::StatusOr<SearchResult> Run() {
    PLAIT_ASSIGN_OR_RETURN(policy_, FindSearchPolicy(options_.search));
    PLAIT_ASSIGN_OR_RETURN(schedule_policy_, FindPolicy(options_.schedule));
    context_.progress.OnPhase("baseline", 0);
    PLAIT_RETURN_IF_ERROR(AddBaseline());
    // A baseline whose kernels were not all tried would be too easy to beat.
    if (policy_.rewrites && !profiles_.exhausted()) PLAIT_RETURN_IF_ERROR(AddCandidates());
    KeepBest(plans_, options_.candidates_max);
    TraceCandidates();
    context_.progress.OnPhase("verify", kVerificationFraction);
    PLAIT_RETURN_IF_ERROR(Verify());
    context_.progress.OnPhase("done", 1);
    return std::move(result_);
  }

 private:
  absl::Status AddBaseline() {
    // In any case the original is measured: that much is needed for it, and its time is not known.
    context_.budget.Reserve(SecondsToLoad(graph_));
    PLAIT_ASSIGN_OR_RETURN(PlannedGraph baseline,
                           PlanBaseline(graph_, device_, binding_, profiles_));
    result_.baseline_plan = baseline.plan;
    result_.predicted_baseline_us = baseline.predicted_us;
    absl::StrAppendFormat(&result_.trace, "baseline: %.6g us\n", baseline.predicted_us);
    AddPlan(graph_, std::move(baseline), {}, 0, 0);
    // A search that leaves no time to verify what it has found has found nothing. The last step may
    // begin just before that time does.
    const PlanCandidate& candidate = plans_[0].candidate;
    const double seconds_to_decide = SecondsToDecide(candidate, candidate, options_.verification);
    context_.budget.Reserve(kSecondsPerStep + seconds_to_decide);
    if (profiles_.exhausted()) {
      result_.budget_exhausted = true;
      result_.seconds_needed = kSecondsPerStep * StepsMissing() + seconds_to_decide;
    }
    return absl::OkStatus();
  }

  // Steps that the budget did not allow the baseline, and one for each beyond it.
  int64_t StepsMissing() const {
    const KernelOffers offers(graph_, {.device = device_.description,
                                       .catalog = device_.catalog,
                                       .profiles = device_.profiles,
                                       .fuse = false});
    std::vector<ProfileQuery> missing;
    offers.AppendMissing(/*single_nodes=*/true, &missing);
    return BudgetedProfiles::StepsOf(missing) + 1;
  }

  absl::Status AddCandidates() {
    context_.progress.OnPhase("canonicalize", 0.05);
    RewrittenGraph canonical;
    PLAIT_ASSIGN_OR_RETURN(canonical.graph,
                           Canonicalize(graph_, options_.rules, &canonical.counts));
    context_.progress.OnPhase("search", 0.1);
    origin_ = "normal_form";
    PLAIT_RETURN_IF_ERROR(AddFusedPlans(canonical));
    RegionSearchOptions search;
    search.backtracking = options_.backtracking;
    search.backtracking.rules = options_.rules;
    search.backtracking.cost_model = policy_.cost_model;
    search.partition = options_.partition;
    search.whole_graph = policy_.whole_graph;
    search.threads = options_.threads;
    PLAIT_ASSIGN_OR_RETURN(RegionSearchResult found,
                           SearchRegions(canonical.graph, search, device_, profiles_));
    result_.candidates = found.candidates;
    result_.regions = found.regions;
    result_.regions_solved = found.regions_solved;
    result_.trace += found.trace;
    context_.progress.OnPhase("schedule", 0.6);
    origin_ = "searched";
    for (RewrittenGraph& rewritten : found.graphs) {
      for (const auto& [rule, count] : canonical.counts) rewritten.counts[rule] += count;
      PLAIT_RETURN_IF_ERROR(AddFusedPlans(rewritten));
    }
    result_.budget_exhausted = profiles_.exhausted();
    return absl::OkStatus();
  }

  absl::Status AddFusedPlans(const RewrittenGraph& rewritten) {
    PLAIT_ASSIGN_OR_RETURN(
        std::vector<PlannedGraph> plans,
        PlanFused(rewritten.graph, device_, binding_, *schedule_policy_, profiles_));
    if (policy_.ranks_by_simulation) {
      for (PlannedGraph& planned : plans) {
        const double rank_us = planned.predicted_us;
        AddPlan(rewritten.graph, std::move(planned), rewritten.counts, 0, rank_us);
      }
      return absl::OkStatus();
    }
    // Of the whole graph: the sum over its regions depends on where it was cut.
    const std::optional<double> cost_us =
        KnownRegionCostUs(rewritten.graph, device_, policy_.cost_model);
    int turn = 0;
    for (PlannedGraph& planned : plans) {
      AddPlan(rewritten.graph, std::move(planned), rewritten.counts, turn++,
              cost_us.value_or(std::numeric_limits<double>::infinity()));
    }
    return absl::OkStatus();
  }

  void AddPlan(const Graph& graph, PlannedGraph planned, const RuleCounts& counts, int turn,
               double rank_us) {
    RankedPlan ranked;
    ranked.candidate = {CandidateId(graph, planned.plan), graph, planned.plan,
                        planned.predicted_us};
    if (!known_.insert(ranked.candidate.id).second) return;
    TellPrediction(planned.predicted_us);
    ranked.planned = std::move(planned);
    ranked.counts = counts;
    ranked.origin = origin_;
    ranked.turn = turn;
    ranked.rank_us = rank_us;
    plans_.push_back(std::move(ranked));
  }

  // Only what is better than all before is news.
  void TellPrediction(double predicted_us) {
    const bool is_first = best_predicted_us_ == 0;
    if (!is_first && predicted_us >= best_predicted_us_) return;
    best_predicted_us_ = predicted_us;
    if (!is_first && predicted_us > 0) {
      context_.progress.OnPredicted(result_.predicted_baseline_us / predicted_us);
    }
  }

  void TraceCandidates() {
    for (size_t i = 1; i < plans_.size(); ++i) {
      absl::StrAppendFormat(&result_.trace, "candidate %d: %.6g us, %s\n", static_cast<int>(i),
                            plans_[i].planned.predicted_us, plans_[i].planned.origin);
    }
  }

  absl::Status Verify() {
    std::vector<PlanCandidate> candidates;
    for (const RankedPlan& ranked : plans_) candidates.push_back(ranked.candidate);
    PLAIT_ASSIGN_OR_RETURN(VerificationResult verified,
                           VerifyCandidates(candidates, options_.verification,
                                            {context_.verifier, context_.budget, context_.log,
                                             context_.load_effect, &context_.progress}));
    const RankedPlan& winner = plans_[verified.winner];
    result_.improved = verified.winner != 0;
    result_.origin = winner.origin;
    result_.schedule = winner.planned.schedule;
    result_.graph = winner.candidate.graph;
    result_.plan = winner.candidate.plan;
    result_.predicted_us = winner.planned.predicted_us;
    result_.rules_applied = winner.counts;
    result_.baseline_latency_us = std::move(verified.baseline.latency_us);
    result_.optimized_latency_us = std::move(verified.optimized.latency_us);
    result_.baseline_load_ms = Median(verified.baseline.load_ms);
    result_.load_ms = Median(verified.optimized.load_ms);
    result_.load_rounds = std::move(verified.baseline.load_rounds);
    result_.load_effect = verified.load_effect;
    result_.budget_exhausted |= verified.seconds_needed > 0;
    result_.seconds_needed += verified.seconds_needed;
    result_.task_too_long = verified.task_too_long;
    result_.equivalence = verified.optimized.equivalence;
    result_.fallback_nodes = verified.optimized.fallback_nodes;
    result_.baseline_fallback_nodes = verified.baseline.fallback_nodes;
    result_.speedup = verified.speedup;
    result_.candidates_measured = verified.candidates_measured;
    absl::StrAppendFormat(&result_.trace,
                          "chosen: candidate %d, speedup %.6g, certain %.6g [%.6g, %.6g]\n",
                          verified.winner, result_.speedup.median, result_.speedup.certain,
                          result_.speedup.low, result_.speedup.high);
    return absl::OkStatus();
  }

  const Graph& graph_;
  const SearchOptions& options_;
  const SearchContext& context_;
  SearchDevice device_;
  PlanBinding binding_;
  BudgetedProfiles& profiles_;
  SearchPolicy policy_{};
  const SchedulePolicy* schedule_policy_ = nullptr;
  std::vector<RankedPlan> plans_;  // the baseline first
  absl::flat_hash_set<std::string> known_;
  const char* origin_ = "baseline";  // of the plans that are added now
  double best_predicted_us_ = 0;     // 0: there is none yet
  SearchResult result_;
};

}  // namespace

absl::Status CheckSearchPolicy(absl::string_view name) { return FindSearchPolicy(name).status(); }

absl::StatusOr<SearchResult> OptimizeWhole(const Graph& graph, const SearchOptions& options,
                                           const SearchContext& context,
                                           BudgetedProfiles& profiles) {
  return Optimizer(graph, options, context, profiles).Run();
}

}  // namespace plait
