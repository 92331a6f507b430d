#include "bench/search/plan_sampler.h"

#include <algorithm>
#include <utility>

#include "base/status_macros.h"
#include "optimizer/cover/cover.h"
#include "optimizer/normal_form/canonicalize.h"
#include "optimizer/schedule/policy.h"
#include "optimizer/search/match_index.h"

namespace plait {
namespace {

// The model in its normal form, and the ends of so many walks.
constexpr int kWalks = 7;
constexpr int kRewritesMax = 12;
constexpr int kStatesMax = 16;
// Of the kernels that a cover may choose from, and of those whose width is narrowed.
constexpr double kKept[] = {1, 0.8, 0.5, 0.2, 0};
constexpr double kNarrowed[] = {0, 0, 0.3, 1};

template <typename T, size_t kSize>
const T& OneOf(const T (&values)[kSize], Random& random) {
  return values[random.Integer(0, kSize - 1)];
}

// One random rewrite, and the normal form of what it leaves; false: no rule applies.
absl::StatusOr<bool> RewriteOnce(Graph* graph, Random& random) {
  std::vector<Match> matches = MatchIndex(*graph).FindMatches(AllRules());
  if (matches.empty()) return false;
  const int64_t last = static_cast<int64_t>(matches.size()) - 1;
  PLAIT_ASSIGN_OR_RETURN(const Graph next, Apply(*graph, matches[random.Integer(0, last)].rewrite));
  RuleCounts counts;
  PLAIT_ASSIGN_OR_RETURN(*graph, Canonicalize(next, AllRules(), &counts));
  return true;
}

// Whether every graph can be covered by groups of this kind.
bool IsNeeded(const KernelGroup& group) {
  const auto is_plain = [](Format format) { return format == Format::kPlain; };
  return group.nodes.size() <= 1 && std::ranges::all_of(group.input_formats, is_plain) &&
         std::ranges::all_of(group.output_formats, is_plain);
}

}  // namespace

absl::StatusOr<PlanSampler> PlanSampler::Of(const Graph& graph, const SearchDevice& device,
                                            const PlanBinding& binding, BudgetedProfiles& profiles,
                                            uint64_t seed) {
  PlanSampler sampler(device, binding, seed);
  RuleCounts counts;
  PLAIT_ASSIGN_OR_RETURN(const Graph normal, Canonicalize(graph, AllRules(), &counts));
  PLAIT_RETURN_IF_ERROR(sampler.AddSource(normal, 0, profiles));
  for (int walk = 0; walk < kWalks; ++walk) {
    Graph end = normal;
    int rewrites = 0;
    for (int64_t left = sampler.random_.Integer(1, kRewritesMax); left > 0; --left) {
      PLAIT_ASSIGN_OR_RETURN(const bool went, RewriteOnce(&end, sampler.random_));
      if (!went) break;
      ++rewrites;
    }
    if (rewrites == 0) break;
    PLAIT_RETURN_IF_ERROR(sampler.AddSource(std::move(end), rewrites, profiles));
  }
  return sampler;
}

absl::Status PlanSampler::AddSource(Graph graph, int rewrites, BudgetedProfiles& profiles) {
  const KernelOffers offers(
      graph,
      {.device = device_.description, .catalog = device_.catalog, .profiles = device_.profiles});
  std::vector<ProfileQuery> missing;
  offers.AppendMissing(/*single_nodes=*/false, &missing);
  PLAIT_RETURN_IF_ERROR(profiles.ResolveAll(missing));
  KernelTable table = offers.Table();
  sources_.push_back({std::move(graph), rewrites, std::move(table)});
  return absl::OkStatus();
}

KernelTable PlanSampler::Thinned(const KernelTable& table) {
  const double kept = OneOf(kKept, random_);
  const double narrowed = OneOf(kNarrowed, random_);
  KernelTable thinned;
  thinned.reorders = table.reorders;
  thinned.groups_at.resize(table.groups_at.size());
  for (size_t node = 0; node < table.groups_at.size(); ++node) {
    for (const int index : table.groups_at[node]) {
      KernelGroup group = table.groups[index];
      if (!IsNeeded(group) && random_.Uniform() >= kept) continue;
      if (random_.Uniform() < narrowed) group.whole = group.part;
      thinned.groups_at[node].push_back(static_cast<int>(thinned.groups.size()));
      thinned.groups.push_back(std::move(group));
    }
  }
  return thinned;
}

absl::StatusOr<SampledPlan> PlanSampler::Draw() {
  const Source& source = sources_[random_.Integer(0, static_cast<int64_t>(sources_.size()) - 1)];
  const KernelTable table = Thinned(source.table);
  ScheduleDevice schedule_device = device_.schedule;
  schedule_device.streams_max = static_cast<int>(random_.Integer(1, device_.schedule.streams_max));
  const bool is_narrow = schedule_device.streams_max > 1 && random_.Integer(0, 1) == 1;
  PLAIT_ASSIGN_OR_RETURN(const Cover cover,
                         FindCover(source.graph, table,
                                   {.width = is_narrow ? CoverWidth::kPart : CoverWidth::kFastest,
                                    .states_max = kStatesMax,
                                    .streams = schedule_device.streams_max}));
  const ScheduleProblem problem = MakeScheduleProblem(cover, schedule_device);
  const int64_t policies = static_cast<int64_t>(AllPolicies().size());
  const SchedulePolicy& policy = *AllPolicies()[random_.Integer(0, policies - 1)];
  const Schedule schedule = policy.assign(problem);

  SampledPlan sampled;
  sampled.rewrites = source.rewrites;
  sampled.policy = std::string(policy.name);
  sampled.steps = StepsOf(problem, schedule);
  for (const Placement& placement : schedule) {
    const KernelGroup& group = cover.steps[placement.launch].group;
    sampled.step_bytes.push_back((placement.whole ? group.whole : group.part).bytes);
  }
  Plan plan = MakePlan(source.graph, cover, schedule, device_.catalog, binding_);
  std::string id = CandidateId(source.graph, plan);
  sampled.candidate = {std::move(id), source.graph, std::move(plan), MakespanUs(problem, schedule)};
  return sampled;
}

}  // namespace plait
