#include "optimizer/search/rehearse.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/statistics.h"
#include "base/status_macros.h"
#include "optimizer/cost/measuring_rules.h"
#include "optimizer/search/verify_candidates.h"

// A plan of three convolutions. The first may run by Winograd's algorithm (a) or by oneDNN's (b) in
// the same formats, the second by a or c, the third only by a. By profile a is the fastest
// everywhere. The plans a a a, b c a and a a a are run in turn, and the second convolution took 90
// us by a and 80 by c: a c a is the new plan.

namespace plait {
namespace {

// Beside the plan's own.
constexpr size_t kAlternativesMax = 3;
// 1.3: isolated times are off by less than that, but for few kernels.
constexpr double kSlowerMax = 1.3;
// 0.97: what a median of a dozen rounds is off by.
constexpr double kBetter = 0.97;
// A step that takes less than this is timed no better than to a tenth.
constexpr double kStepUsMin = 3;

class PlanRehearsal {
 public:
  PlanRehearsal(const RehearsalContext& context, const RankedPlan& best)
      : context_(context), best_(best), graph_(best.candidate.graph), plan_(best.candidate.plan) {}

  // The better plan, or nullopt where there is none.
  absl::StatusOr<std::optional<RankedPlan>> Run(std::string& trace) {
    size_t most = 0;
    for (const Step& step : plan_.steps) {
      kernels_.push_back(KernelsFor(step));
      most = std::max(most, kernels_.back().size());
    }
    if (most < 2) return std::nullopt;
    std::vector<PlanCandidate> candidates;
    for (size_t turn = 0; turn < most; ++turn) candidates.push_back(Candidate(turn));
    if (!HasSeconds(candidates)) return std::nullopt;
    PLAIT_ASSIGN_OR_RETURN(const std::vector<std::vector<double>> step_us, Measure(candidates));
    return BetterPlan(step_us, trace);
  }

 private:
  // What may run a step: the plan's own kernel, then others, the fastest by profile first.
  std::vector<Kernel> KernelsFor(const Step& step) const {
    const Kernel& own = step.kernel;
    std::vector<Kernel> kernels = {own};
    if (own.nodes.empty() || own.family == kViewFamily) return kernels;
    const Fingerprint structure = StructureFingerprint(graph_, own.nodes);
    const std::optional<double> own_us = LatencyUs(structure, own);
    if (!own_us.has_value() || *own_us < kStepUsMin) return kernels;
    std::vector<std::pair<double, Kernel>> others;
    for (Kernel& kernel :
         context_.device.catalog.KernelsAt(graph_, own.nodes.front(), /*fuse=*/true)) {
      if (kernel == own || !MayReplace(kernel, step)) continue;
      const std::optional<double> us = LatencyUs(structure, kernel);
      if (us.has_value() && *us <= kSlowerMax * *own_us)
        others.emplace_back(*us, std::move(kernel));
    }
    std::stable_sort(others.begin(), others.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    if (others.size() > kAlternativesMax) others.resize(kAlternativesMax);
    for (auto& [us, kernel] : others) kernels.push_back(std::move(kernel));
    return kernels;
  }

  std::optional<double> LatencyUs(const Fingerprint& structure, const Kernel& kernel) const {
    const Profile* const profile =
        context_.device.profiles.Find(KernelFingerprint(structure, kernel));
    if (profile == nullptr || profile->samples == 0) return std::nullopt;
    return profile->latency_us_median;
  }

  // Whether everything around the step may stay as it is.
  bool MayReplace(const Kernel& kernel, const Step& step) const {
    const Kernel& own = step.kernel;
    const bool is_alike = kernel.nodes == own.nodes && kernel.width == own.width &&
                          kernel.input_formats == own.input_formats &&
                          kernel.output_formats == own.output_formats;
    if (!is_alike || kernel.family == kViewFamily) return false;
    const auto has_part = [&](const std::vector<int>& values) {
      return std::any_of(values.begin(), values.end(),
                         [&](int value) { return plan_.values[value].first_channel >= 0; });
    };
    const KernelCatalog& catalog = context_.device.catalog;
    if (has_part(step.inputs) && !catalog.ReadsParts(kernel)) return false;
    if (has_part(step.outputs) && !catalog.WritesParts(kernel)) return false;
    return !catalog.NeedsAdmission(kernel) || IsAdmitted(kernel, own);
  }

  // At no higher a price than the plan's own kernel, which was admitted.
  bool IsAdmitted(const Kernel& kernel, const Kernel& own) const {
    const Admissions* const admissions = context_.device.admissions;
    if (admissions == nullptr) return true;
    if (admissions->Of(graph_, kernel) != Admission::kAdmitted) return false;
    const bool may_lose = context_.device.catalog.NeedsAdmission(own);
    return admissions->PriceUs(graph_, kernel) <= (may_lose ? admissions->PriceUs(graph_, own) : 0);
  }

  // The kernel that the step has in a turn; its own where there are no more.
  size_t KernelInTurn(size_t step, size_t turn) const {
    return turn < kernels_[step].size() ? turn : 0;
  }

  PlanCandidate Candidate(size_t turn) const {
    PlanCandidate candidate = best_.candidate;
    for (size_t step = 0; step < kernels_.size(); ++step) {
      candidate.plan.steps[step].kernel = kernels_[step][KernelInTurn(step, turn)];
    }
    candidate.id = CandidateId(graph_, candidate.plan);
    return candidate;
  }

  bool HasSeconds(absl::Span<const PlanCandidate> candidates) {
    const double seconds =
        SecondsToVerify(candidates, {.loads = 1, .rounds = batch_.rounds_min, .random_inputs = 1}) +
        batch_.seconds_max;
    const bool has_seconds = context_.budget.AllowsTask(seconds) &&
                             context_.budget.HasSeconds(seconds + context_.seconds_reserved);
    context_.log.AddTimeAnswer(has_seconds);
    return has_seconds;
  }

  absl::StatusOr<std::vector<std::vector<double>>> Measure(
      absl::Span<const PlanCandidate> candidates) {
    Rehearsal rehearsal;
    for (const PlanCandidate& candidate : candidates) {
      rehearsal.candidates.push_back(candidate.id);
    }
    absl::StatusOr<std::vector<std::vector<double>>> answer =
        context_.verifier.TimeSteps(candidates, batch_);
    if (absl::IsDeadlineExceeded(answer.status())) answer.emplace(candidates.size());
    PLAIT_ASSIGN_OR_RETURN(rehearsal.step_us, std::move(answer));
    const bool fits = std::equal(
        candidates.begin(), candidates.end(), rehearsal.step_us.begin(), rehearsal.step_us.end(),
        [](const PlanCandidate& candidate, const std::vector<double>& step_us) {
          return step_us.empty() || step_us.size() == candidate.plan.steps.size();
        });
    if (!fits) return absl::InternalError("the verifier answered about other steps");
    context_.log.AddRehearsal(rehearsal);
    return std::move(rehearsal.step_us);
  }

  // What the kernel took in the step: the median where several plans had it there.
  std::optional<double> TimeOf(size_t step, size_t kernel,
                               absl::Span<const std::vector<double>> step_us) const {
    std::vector<double> times;
    for (size_t turn = 0; turn < step_us.size(); ++turn) {
      if (step_us[turn].empty() || KernelInTurn(step, turn) != kernel) continue;
      times.push_back(step_us[turn][step]);
    }
    if (times.empty()) return std::nullopt;
    return Median(std::move(times));
  }

  std::optional<RankedPlan> BetterPlan(absl::Span<const std::vector<double>> step_us,
                                       std::string& trace) const {
    RankedPlan better = best_;
    double saved_us = 0;
    std::string exchanged;
    for (size_t step = 0; step < kernels_.size(); ++step) {
      const std::optional<double> own_us = TimeOf(step, 0, step_us);
      if (!own_us.has_value()) continue;
      double least_us = kBetter * *own_us;
      size_t least = 0;
      for (size_t kernel = 1; kernel < kernels_[step].size(); ++kernel) {
        const std::optional<double> us = TimeOf(step, kernel, step_us);
        if (!us.has_value() || *us >= least_us) continue;
        least_us = *us;
        least = kernel;
      }
      if (least == 0) continue;
      const Kernel& from = kernels_[step][0];
      const Kernel& to = kernels_[step][least];
      better.candidate.plan.steps[step].kernel = to;
      saved_us += *own_us - least_us;
      absl::StrAppendFormat(&exchanged, "  step %d: %s %s %.6g us -> %s %s %.6g us\n",
                            static_cast<int>(step), from.family, from.variant, *own_us, to.family,
                            to.variant, least_us);
    }
    absl::StrAppendFormat(&trace, "rehearsal: %d plans, %.6g us saved\n%s",
                          static_cast<int>(step_us.size()), saved_us, exchanged);
    if (saved_us == 0 || !CheckPlan(better.candidate.plan, graph_).ok()) return std::nullopt;
    const double predicted_us = std::max(0.0, best_.candidate.predicted_us - saved_us);
    better.candidate.predicted_us = predicted_us;
    better.candidate.id = CandidateId(graph_, better.candidate.plan);
    better.planned.plan = better.candidate.plan;
    better.planned.predicted_us = predicted_us;
    absl::StrAppend(&better.planned.origin, ", rehearsed");
    return better;
  }

  const RehearsalContext& context_;
  const RankedPlan& best_;
  const Graph& graph_;
  const Plan& plan_;
  const RehearsalBatch batch_;
  std::vector<std::vector<Kernel>> kernels_;  // by step, its own first
};

}  // namespace

absl::Status RehearseBest(const RehearsalContext& context, int candidates_max,
                          std::vector<RankedPlan>& plans, std::string& trace) {
  if (plans.size() == 1) return absl::OkStatus();
  PLAIT_ASSIGN_OR_RETURN(std::optional<RankedPlan> better,
                         PlanRehearsal(context, plans[1]).Run(trace));
  if (!better.has_value()) return absl::OkStatus();
  const bool is_known = std::any_of(plans.begin(), plans.end(), [&](const RankedPlan& plan) {
    return plan.candidate.id == better->candidate.id;
  });
  if (is_known) return absl::OkStatus();
  plans.insert(plans.begin() + 1, *std::move(better));
  const size_t kept = static_cast<size_t>(candidates_max) + 1;
  if (plans.size() > kept) plans.pop_back();
  return absl::OkStatus();
}

}  // namespace plait
