#include "optimizer/search/optimize_whole.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/statistics.h"
#include "base/status_macros.h"
#include "optimizer/plan/step_variants.h"
#include "optimizer/schedule/schedule_memo.h"
#include "optimizer/search/admit_plans.h"
#include "optimizer/search/check_shapes.h"
#include "optimizer/search/fit_precision.h"
#include "optimizer/search/region_cost.h"
#include "optimizer/search/rehearse.h"
#include "optimizer/search/search_policy.h"
#include "optimizer/search/verification_seconds.h"
#include "optimizer/search/verify_predicted.h"

namespace plait {
namespace {

// From 0.1 up to 0.6: nobody knows how many rounds there will be.
double SearchFraction(double round) { return 0.6 - 0.5 / round; }

class Optimizer {
 public:
  Optimizer(const Graph& graph, const SearchOptions& options, const SearchContext& context,
            BudgetedProfiles& profiles)
      : graph_(graph),
        options_(options),
        context_(context),
        device_{context.device, context.catalog, context.profiles, ScheduleDeviceOf(context.device),
                &admissions_},
        binding_{context.device.fingerprint, options.engine_version, context.device.threads,
                 "strict", context.is_predicted},
        profiles_(profiles),
        shape_check_(context.other_shapes,
                     {context.device, context.catalog, options.engine_version, context.verifier,
                      context.budget, context.log, result_.trace}) {}

  absl::StatusOr<SearchResult> Run() {
    PLAIT_ASSIGN_OR_RETURN(policy_, FindSearchPolicy(options_.search));
    PLAIT_ASSIGN_OR_RETURN(schedule_policy_, FindPolicy(options_.schedule));
    if (schedule_policy_ == &kSequentialPolicy) device_.schedule.streams_max = 1;  // costs are sums
    context_.progress.OnPhase("baseline", 0);
    PLAIT_RETURN_IF_ERROR(AddBaseline());
    if (IsSearched()) PLAIT_RETURN_IF_ERROR(AddCandidates());
    KeepBest(plans_, options_.candidates_max);
    context_.progress.OnPhase("verify", kVerificationFraction);
    PLAIT_RETURN_IF_ERROR(Admit());
    PLAIT_ASSIGN_OR_RETURN(const double us_per_byte, Rehearse());
    if (us_per_byte > 0) PLAIT_RETURN_IF_ERROR(PlanInPlace(us_per_byte));
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
    AddPlan(Ranked(graph_, std::move(baseline), {}, "baseline"));
    const PlanCandidate& candidate = plans_[0].candidate;
    seconds_to_decide_ = SecondsToDecide(candidate, candidate, options_.verification);
    if (profiles_.exhausted()) {
      result_.budget_exhausted = true;
      result_.seconds_needed =
          kStepSeconds * (BaselineStepsMissing(graph_, device_) + 1) + seconds_to_decide_;
    }
    // A search that leaves no time to verify what it has found has found nothing. The last step may
    // begin just before that time does.
    context_.budget.Reserve(kStepSeconds + SecondsForAdmission() + seconds_to_decide_ +
                            shape_check_.SecondsToCheck());
    return absl::OkStatus();
  }

  // What to keep for measuring the errors of kernels that need admission. When that is more than
  // would be left for searching, none of them is used.
  double SecondsForAdmission() {
    if (!IsSearched()) return 0;
    double seconds =
        SecondsToAdmit(plans_[0].candidate, context_.catalog, options_.verification.given_inputs);
    if (seconds == 0) return 0;
    if (options_.rel_error_max > 0) {
      seconds += SecondsToFitPrecision(plans_[0].candidate, options_.verification.given_inputs);
    }
    const bool has_seconds =
        context_.budget.HasSeconds(2 * seconds + kStepSeconds + seconds_to_decide_);
    context_.log.AddTimeAnswer(has_seconds);
    if (has_seconds) return seconds;
    admissions_.RefuseUnknown();
    result_.trace += "no time for kernels that need admission\n";
    return 0;
  }

  // A baseline whose kernels were not all tried would be too easy to beat.
  bool IsSearched() const {
    return policy_.rewriting != Rewriting::kNothing && !profiles_.exhausted();
  }

  absl::Status AddCandidates() {
    context_.progress.OnPhase("canonicalize", 0.05);
    if (options_.rel_error_max > 0) {
      binding_.precision = options_.precision;
      admissions_.SetPrice(0);
    }
    RewrittenGraph canonical;
    PLAIT_ASSIGN_OR_RETURN(canonical.graph,
                           Canonicalize(graph_, options_.rules, &canonical.counts));
    context_.progress.OnPhase("schedule", 0.08);
    PLAIT_RETURN_IF_ERROR(AddFusedPlans(canonical.graph, canonical.counts, "normal_form"));
    const std::vector<RegionSearchOptions> searches =
        SearchesOf(policy_, options_, device_.schedule);
    absl::flat_hash_map<CostModel, SolvedRegions> solved;
    for (const RegionSearchOptions& search : searches) {
      if (profiles_.exhausted() && &search != &searches.front()) break;
      PLAIT_RETURN_IF_ERROR(
          SearchInRounds(canonical, search, solved[search.backtracking.cost_model]));
    }
    result_.budget_exhausted = profiles_.exhausted();
    return absl::OkStatus();
  }

  // Searches the graph, then the best one found from it, cut anew, until that was searched last.
  absl::Status SearchInRounds(RewrittenGraph start, const RegionSearchOptions& search,
                              SolvedRegions& solved) {
    const size_t first = rounds_ == 0 ? 1 : plans_.size();
    for (int round = 1;; ++round) {
      ++rounds_;
      PLAIT_RETURN_IF_ERROR(SearchOnce(start, search, solved));
      if (plans_.size() == first || round == SearchRoundsMax(policy_)) break;
      const RankedPlan& best = BestPlan(plans_, first);
      const Fingerprint from = best.candidate.graph.fingerprint();
      if (from == start.graph.fingerprint() || profiles_.exhausted()) break;
      start = {best.candidate.graph, best.counts, recipes_[from]};
      absl::StrAppendFormat(&result_.trace, "round %d: from %.6g us\n", round + 1, best.rank_us);
    }
    return absl::OkStatus();
  }

  absl::Status SearchOnce(const RewrittenGraph& start, const RegionSearchOptions& search,
                          SolvedRegions& solved) {
    context_.progress.OnPhase("search", SearchFraction(rounds_));
    PLAIT_ASSIGN_OR_RETURN(RegionSearchResult found,
                           SearchRegions(start.graph, search, device_, profiles_, &solved));
    result_.candidates += found.candidates;
    result_.regions += found.regions;
    result_.regions_solved += found.regions_solved;
    result_.trace += found.trace;
    context_.progress.OnPhase("schedule", SearchFraction(rounds_ + 0.5));
    for (RewrittenGraph& rewritten : found.graphs) {
      PLAIT_RETURN_IF_ERROR(AddRewritten(start, std::move(rewritten)));
    }
    return absl::OkStatus();
  }

  // What a round made of `start`.
  absl::Status AddRewritten(const RewrittenGraph& start, RewrittenGraph rewritten) {
    for (const auto& [rule, count] : start.counts) rewritten.counts[rule] += count;
    // The first way to a graph is the shortest one.
    recipes_.try_emplace(rewritten.graph.fingerprint(), Joined(start.recipe, rewritten.recipe));
    return AddFusedPlans(rewritten.graph, rewritten.counts, "searched");
  }

  absl::Status AddFusedPlans(const Graph& graph, const RuleCounts& counts, const char* origin) {
    PLAIT_ASSIGN_OR_RETURN(std::vector<RankedPlan> plans, FusedPlans(graph, counts, origin));
    for (RankedPlan& plan : plans) AddPlan(std::move(plan));
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<RankedPlan>> FusedPlans(const Graph& graph, const RuleCounts& counts,
                                                     const char* origin) {
    PLAIT_ASSIGN_OR_RETURN(
        std::vector<PlannedGraph> plans,
        PlanFused(graph, device_, binding_, *schedule_policy_, profiles_, &memo_));
    // Of the whole graph: the sum over its regions depends on where it was cut.
    std::optional<double> cost_us;
    if (!policy_.ranks_by_simulation) {
      cost_us = KnownRegionCostUs(graph, device_, policy_.cost_model);
    }
    std::vector<RankedPlan> ranked;
    for (PlannedGraph& planned : plans) {
      RankedPlan& added = ranked.emplace_back(Ranked(graph, std::move(planned), counts, origin));
      if (policy_.ranks_by_simulation) {
        added.rank_us = added.candidate.predicted_us;
      } else {
        added.rank_us = cost_us.value_or(std::numeric_limits<double>::infinity());
        added.turn = static_cast<int>(ranked.size()) - 1;
      }
    }
    return ranked;
  }

  void AddPlan(RankedPlan plan) {
    if (!known_.insert(plan.candidate.id).second) return;
    TellPrediction(plan.candidate.predicted_us);
    plans_.push_back(std::move(plan));
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

  absl::Status Admit() {
    const AdmissionContext admission = {.catalog = context_.catalog,
                                        .verifier = context_.verifier,
                                        .budget = context_.budget,
                                        .log = context_.log,
                                        .given_inputs = options_.verification.given_inputs,
                                        .seconds_reserved = seconds_to_decide_,
                                        .candidates_max = options_.candidates_max,
                                        .plan_anew =
                                            [this](const RankedPlan& plan) {
                                              return FusedPlans(plan.candidate.graph, plan.counts,
                                                                plan.origin);
                                            },
                                        .refused = &result_.refused};
    PLAIT_RETURN_IF_ERROR(AdmitPlans(admission, admissions_, plans_, result_.trace));
    if (options_.rel_error_max > 0) {
      PLAIT_RETURN_IF_ERROR(
          FitPrecision(admission, options_.rel_error_max, admissions_, plans_, result_.trace));
    }
    for (size_t i = 1; i < plans_.size(); ++i) {
      absl::StrAppendFormat(&result_.trace, "candidate %d: %.6g us, %s\n", static_cast<int>(i),
                            plans_[i].planned.predicted_us, plans_[i].planned.origin);
    }
    return absl::OkStatus();
  }

  // Nothing runs on a device that is only described.
  absl::StatusOr<double> Rehearse() {
    if (context_.is_predicted) return 0;
    const RehearsalContext rehearsal = {device_, context_.verifier, context_.budget, context_.log,
                                        seconds_to_decide_};
    return RehearseBest(rehearsal, options_.candidates_max, plans_, result_.trace);
  }

  // Plans all graphs that are left once more, with what the rehearsal found that profiles do not
  // tell: what fuses more has a better chance now. The best such plan is rehearsed as well.
  absl::Status PlanInPlace(double us_per_byte) {
    // The loss of a plan that may lose accuracy was measured; another one's was not.
    if (options_.rel_error_max > 0) return absl::OkStatus();
    admissions_.RefuseUnknown();
    device_.us_per_byte = us_per_byte;
    std::optional<RankedPlan> best;
    absl::flat_hash_set<Fingerprint> seen;
    for (size_t i = 1; i < plans_.size(); ++i) {
      const RankedPlan& plan = plans_[i];
      if (!seen.insert(plan.candidate.graph.fingerprint()).second) continue;
      PLAIT_ASSIGN_OR_RETURN(std::vector<RankedPlan> anew,
                             FusedPlans(plan.candidate.graph, plan.counts, plan.origin));
      RankedPlan& first = anew.front();
      const bool is_better =
          !best.has_value() || first.candidate.predicted_us < best->candidate.predicted_us;
      if (is_better) best = std::move(first);
    }
    absl::StrAppendFormat(&result_.trace, "in place: %.6g us for 64 KiB moved, %.6g us\n",
                          65536 * us_per_byte, best->candidate.predicted_us);
    absl::StrAppend(&best->planned.origin, ", in place");
    if (!PutFirst(*std::move(best), options_.candidates_max, plans_)) return absl::OkStatus();
    return Rehearse().status();
  }

  absl::Status Verify() {
    std::vector<PlanCandidate> candidates;
    for (const RankedPlan& ranked : plans_) candidates.push_back(ranked.candidate);
    const auto verify = context_.is_predicted ? VerifyPredicted : VerifyCandidates;
    PLAIT_ASSIGN_OR_RETURN(
        VerificationResult verified,
        verify(candidates, options_.verification,
               {context_.verifier, context_.budget, context_.log, context_.load_effect,
                &context_.progress, [this](int candidate, double seconds_to_decide) {
                  return IsRightElsewhere(candidate, seconds_to_decide);
                }}));
    const RankedPlan& winner = plans_[verified.winner];
    result_.improved = verified.winner != 0;
    if (result_.improved) {
      result_.shapes_equal = shape_check_.shapes_equal();
      result_.shapes_left = shape_check_.shapes_left();
    }
    result_.origin = winner.origin;
    result_.schedule = winner.planned.schedule;
    result_.graph = winner.candidate.graph;
    result_.plan = WithStepVariants(winner.candidate.plan, verified.optimized.step_variants);
    result_.predicted_us = winner.planned.predicted_us;
    result_.rules_applied = winner.counts;
    result_.recipe = RecipeOf(result_.graph);
    KeepOtherGraphs();
    result_.baseline_latency_us = std::move(verified.baseline.latency_us);
    result_.optimized_latency_us = std::move(verified.optimized.latency_us);
    result_.baseline_load_ms = Median(verified.baseline.load_ms);
    result_.load_ms = Median(verified.optimized.load_ms);
    result_.load_effect = verified.load_effect;
    result_.budget_exhausted |= verified.seconds_needed > 0;
    result_.seconds_needed += verified.seconds_needed;
    result_.task_too_long = verified.task_too_long;
    result_.equivalence = verified.optimized.equivalence;
    result_.baseline_draws_us = std::move(verified.baseline_draws_us);
    result_.optimized_draws_us = std::move(verified.optimized_draws_us);
    result_.speedup = verified.speedup;
    result_.candidates_measured = verified.candidates_measured;
    result_.refused.insert(result_.refused.end(), verified.refused.begin(), verified.refused.end());
    SortRefusals(result_.refused);
    result_.plan_times = std::move(verified.plan_times);
    for (const PlanTimes& times : result_.plan_times) result_.trace += PlanTimesLine(times);
    TraceRefusals();
    absl::StrAppendFormat(&result_.trace,
                          "chosen: candidate %d, speedup %.6g, certain %.6g [%.6g, %.6g]\n",
                          verified.winner, result_.speedup.median, result_.speedup.certain,
                          result_.speedup.low, result_.speedup.high);
    return absl::OkStatus();
  }

  // Kernels were told where they were measured.
  void TraceRefusals() {
    for (const Refusal& refusal : result_.refused) {
      if (refusal.kernel.empty()) result_.trace += RefusalLine(refusal);
    }
  }

  bool IsRightElsewhere(int candidate, double seconds_to_decide) {
    if (context_.other_shapes.empty()) return true;
    const PlanCandidate& finalist = plans_[candidate].candidate;
    return shape_check_.IsRight(finalist, RecipeOf(finalist.graph), seconds_to_decide);
  }

  // Rules of a recipe are known by their place among all of them.
  RewriteRecipe RecipeOf(const Graph& graph) const {
    const auto recipe = recipes_.find(graph.fingerprint());
    if (recipe == recipes_.end() || options_.rules.data() != AllRules().data()) return {};
    return LeadsTo(graph_, recipe->second, graph) ? recipe->second : RewriteRecipe();
  }

  // Plans of one graph follow each other: each graph counts once.
  void KeepOtherGraphs() {
    absl::flat_hash_set<std::string> seen = {graph_.fingerprint().ToString(),
                                             result_.graph.fingerprint().ToString()};
    for (const RankedPlan& plan : plans_) {
      if (result_.other_graphs.size() == kKeptGraphsMax) return;
      const Graph& graph = plan.candidate.graph;
      if (!seen.insert(graph.fingerprint().ToString()).second) continue;
      result_.other_graphs.push_back({graph, plan.counts});
    }
  }

  const Graph& graph_;
  const SearchOptions& options_;
  const SearchContext& context_;
  Admissions admissions_;  // those of this graph alone
  SearchDevice device_;
  PlanBinding binding_;
  BudgetedProfiles& profiles_;
  ScheduleMemo memo_;
  SearchPolicy policy_{};
  const SchedulePolicy* schedule_policy_ = nullptr;
  std::vector<RankedPlan> plans_;  // the baseline first
  absl::flat_hash_set<std::string> known_;
  absl::flat_hash_map<Fingerprint, RewriteRecipe> recipes_;  // of graphs that were rewritten
  int rounds_ = 0;                                           // of all searches
  double seconds_to_decide_ = 0;                             // about one candidate
  double best_predicted_us_ = 0;                             // 0: there is none yet
  SearchResult result_;
  ShapeCheck shape_check_;
};

}  // namespace

absl::StatusOr<SearchResult> OptimizeWhole(const Graph& graph, const SearchOptions& options,
                                           const SearchContext& context,
                                           BudgetedProfiles& profiles) {
  return Optimizer(graph, options, context, profiles).Run();
}

}  // namespace plait
