#include "optimizer/search/rehearse.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/statistics.h"
#include "base/status_macros.h"
#include "optimizer/cost/measuring_rules.h"
#include "optimizer/kernels/format_rules.h"
#include "optimizer/plan/step_work.h"
#include "optimizer/search/verification_seconds.h"

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
// 64 KiB: what is smaller stays in the nearest caches in a plan as well.
constexpr int64_t kMovedBytesMin = 65536;
// So few steps say nothing of others.
constexpr size_t kMovingStepsMin = 4;

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
    us_per_byte_ = MovingUs(step_us);
    return BetterPlan(step_us, trace);
  }

  // See RehearseBest.
  double us_per_byte() const { return us_per_byte_; }

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

  int64_t MovedBytes(const Step& step) const {
    int64_t bytes = 0;
    for (const std::vector<int>& values : {step.inputs, step.outputs}) {
      for (const int value : values) {
        bytes += BytesOf(graph_.type(plan_.values[value].tensor), plan_.values[value].format);
      }
    }
    return bytes;
  }

  // The median over bytes, so that half of what is moved costs as much or more.
  double MovingUs(absl::Span<const std::vector<double>> step_us) const {
    std::vector<std::pair<double, double>> moves;  // microseconds a byte, bytes
    double bytes_sum = 0;
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      const Step& step = plan_.steps[i];
      const int64_t bytes = MovedBytes(step);
      // What only moves may move nothing, where the plan has parts.
      if (bytes < kMovedBytesMin || FlopsOf(step, graph_) == 0) continue;
      const std::optional<double> alone_us =
          LatencyUs(StructureFingerprint(graph_, step.kernel.nodes), step.kernel);
      const std::optional<double> in_place_us = TimeOf(i, 0, step_us);
      if (!alone_us.has_value() || !in_place_us.has_value()) continue;
      moves.emplace_back((*in_place_us - *alone_us) / static_cast<double>(bytes), bytes);
      bytes_sum += static_cast<double>(bytes);
    }
    if (moves.size() < kMovingStepsMin) return 0;
    std::sort(moves.begin(), moves.end());
    double below = 0;
    size_t median = 0;
    while (below + moves[median].second < bytes_sum / 2) below += moves[median++].second;
    return std::max(0.0, moves[median].first);
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
  double us_per_byte_ = 0;
};

}  // namespace

absl::StatusOr<double> RehearseBest(const RehearsalContext& context, int candidates_max,
                                    std::vector<RankedPlan>& plans, std::string& trace) {
  if (plans.size() == 1) return 0;
  PlanRehearsal rehearsal(context, plans[1]);
  PLAIT_ASSIGN_OR_RETURN(std::optional<RankedPlan> better, rehearsal.Run(trace));
  const double us_per_byte = rehearsal.us_per_byte();
  if (better.has_value()) PutFirst(*std::move(better), candidates_max, plans);
  return us_per_byte;
}

}  // namespace plait
