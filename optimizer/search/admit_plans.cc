#include "optimizer/search/admit_plans.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "optimizer/search/verification_seconds.h"

// Two plans of a graph with three products. Both run the first two by a kernel that computes in
// int8, and the second plan also the third. The first plan is loaded, and the errors of its steps
// at products 1 and 2 are measured; product 2 is refused. Of the second plan only product 3 is
// asked about, which is admitted. Both used the kernel at product 2, so that the graph is planned
// anew: the new plans have it at products 1 and 3. Nothing in them is unknown.
//
// Each turn but the last refuses a kernel at a layer, of which there are finitely many.

namespace plait {
namespace {

// 40 ms: some thousand sums in float64, and one run each on real and on hard inputs.
constexpr double kSecondsPerStep = 0.04;

// Of a kernel that could not be measured.
constexpr LayerError kUnmeasured = {.error = std::numeric_limits<double>::infinity()};

class PlanAdmission {
 public:
  PlanAdmission(const AdmissionContext& context, Admissions& admissions,
                std::vector<RankedPlan>& plans, std::string& trace)
      : context_(context), admissions_(admissions), plans_(plans), trace_(trace) {}

  absl::Status Run() {
    bool is_changed = true;
    while (is_changed) {
      for (const RankedPlan& plan : plans_) PLAIT_RETURN_IF_ERROR(AskAbout(plan.candidate));
      PLAIT_ASSIGN_OR_RETURN(is_changed, ReplaceRefused());
    }
    return absl::OkStatus();
  }

 private:
  std::vector<int> StepsThatAre(Admission admission, const PlanCandidate& candidate) const {
    std::vector<int> steps;
    for (int i = 0; i < static_cast<int>(candidate.plan.steps.size()); ++i) {
      const Kernel& kernel = candidate.plan.steps[i].kernel;
      if (kernel.nodes.empty() || !context_.catalog.NeedsAdmission(kernel)) continue;
      if (admissions_.Of(candidate.graph, kernel) == admission) steps.push_back(i);
    }
    return steps;
  }

  bool HasSeconds(double seconds) {
    const bool has_seconds = context_.budget.AllowsTask(seconds) &&
                             context_.budget.HasSeconds(seconds + context_.seconds_reserved);
    context_.log.AddTimeAnswer(has_seconds);
    return has_seconds;
  }

  absl::Status AskAbout(const PlanCandidate& candidate) {
    const std::vector<int> steps = StepsThatAre(Admission::kUnknown, candidate);
    if (steps.empty()) return absl::OkStatus();
    if (!HasSeconds(SecondsToMeasureErrors(candidate, steps, context_.given_inputs))) {
      admissions_.RefuseUnknown();
      absl::StrAppend(&trace_, "no time to measure the errors of ", steps.size(), " steps\n");
      return absl::OkStatus();
    }
    absl::StatusOr<std::vector<LayerError>> answer =
        context_.verifier.MeasureErrors(candidate, steps);
    // The plan takes longer than the device may be had.
    if (absl::IsDeadlineExceeded(answer.status())) answer = std::vector<LayerError>();
    PLAIT_ASSIGN_OR_RETURN(std::vector<LayerError> errors, std::move(answer));
    if (!errors.empty() && errors.size() != steps.size()) {
      return absl::InternalError(absl::StrCat("the verifier answered about ", errors.size(), " of ",
                                              steps.size(), " steps"));
    }
    context_.log.AddErrorMeasurement({candidate.id, steps, errors});
    errors.resize(steps.size(), kUnmeasured);
    for (size_t i = 0; i < steps.size(); ++i) {
      admissions_.Add(candidate.graph, candidate.plan.steps[steps[i]].kernel, errors[i]);
    }
    TraceRefused(candidate, steps);
    return absl::OkStatus();
  }

  // One line for each family, with the worst of its layers.
  void TraceRefused(const PlanCandidate& candidate, const std::vector<int>& steps) {
    struct Refused {
      int count = 0;
      NodeId layer = kNoNode;
      LayerError worst = {};
    };
    std::map<std::string, Refused> by_family;
    for (const int step : steps) {
      const Kernel& kernel = candidate.plan.steps[step].kernel;
      const LayerError& error = *admissions_.Find(candidate.graph, kernel);
      if (admissions_.Of(candidate.graph, kernel) != Admission::kRefused) continue;
      Refused& refused = by_family[kernel.family];
      ++refused.count;
      const bool is_worse = std::max(error.error, error.hard_error) >
                            std::max(refused.worst.error, refused.worst.hard_error);
      if (refused.layer != kNoNode && !is_worse) continue;
      refused.layer = kernel.nodes.front();
      refused.worst = error;
    }
    for (const auto& [family, refused] : by_family) {
      const std::string layer = NameOf(candidate.graph, refused.layer);
      absl::StrAppendFormat(&trace_, "refused: %s x%d at %s, %s\n", family, refused.count, layer,
                            ReasonText(refused.worst));
      if (context_.refused == nullptr) continue;
      AddRefusedKernel(family, refused.count, layer, refused.worst, *context_.refused);
    }
  }

  // A node may have no name; what it produces has one.
  static std::string NameOf(const Graph& graph, NodeId id) {
    const Node& node = graph.node(id);
    return node.name != nullptr ? *node.name : *graph.tensor(node.outputs[0]).name;
  }

  static std::string ReasonText(const LayerError& error) {
    if (error == kUnmeasured) return "which could not be measured";
    const LayerError real = {.error = error.error, .serial_error = error.serial_error};
    if (!IsAdmitted(real)) {
      return absl::StrFormat("error %.2g, serial %.2g", error.error, error.serial_error);
    }
    return absl::StrFormat("error on hard inputs %.2g, serial %.2g", error.hard_error,
                           error.serial_hard_error);
  }

  // Plans the graphs anew whose plans use what is refused; false when there are none.
  absl::StatusOr<bool> ReplaceRefused() {
    std::vector<RankedPlan> kept;
    std::vector<RankedPlan> refused;
    absl::flat_hash_set<std::string> known;
    for (RankedPlan& plan : plans_) {
      const bool is_kept = StepsThatAre(Admission::kRefused, plan.candidate).empty();
      if (is_kept) known.insert(plan.candidate.id);
      (is_kept ? kept : refused).push_back(std::move(plan));
    }
    plans_ = std::move(kept);
    absl::flat_hash_set<Fingerprint> planned;
    for (const RankedPlan& plan : refused) {
      if (!planned.insert(plan.candidate.graph.fingerprint()).second) continue;
      PLAIT_ASSIGN_OR_RETURN(std::vector<RankedPlan> anew, context_.plan_anew(plan));
      for (RankedPlan& one : anew) {
        // It would be planned anew for ever.
        if (!StepsThatAre(Admission::kRefused, one.candidate).empty()) {
          return absl::InternalError("a plan was made with a kernel that is refused");
        }
        if (known.insert(one.candidate.id).second) plans_.push_back(std::move(one));
      }
    }
    KeepBest(plans_, context_.candidates_max);
    return !refused.empty();
  }

  const AdmissionContext& context_;
  Admissions& admissions_;
  std::vector<RankedPlan>& plans_;
  std::string& trace_;
};

}  // namespace

absl::Status AdmitPlans(const AdmissionContext& context, Admissions& admissions,
                        std::vector<RankedPlan>& plans, std::string& trace) {
  return PlanAdmission(context, admissions, plans, trace).Run();
}

double SecondsToMeasureErrors(const PlanCandidate& candidate, absl::Span<const int> steps,
                              int given_inputs) {
  double seconds =
      SecondsToLoad(candidate.graph) + (1 + given_inputs) * candidate.predicted_us * 1e-6;
  for (const int step : steps) {
    seconds += SecondsToLoadKernel(candidate.graph, candidate.plan.steps[step].kernel.nodes) +
               kSecondsPerStep;
  }
  return seconds;
}

double SecondsToAdmit(const PlanCandidate& baseline, const KernelCatalog& catalog,
                      int given_inputs) {
  std::vector<int> steps;
  for (int i = 0; i < static_cast<int>(baseline.plan.steps.size()); ++i) {
    const std::vector<NodeId>& nodes = baseline.plan.steps[i].kernel.nodes;
    if (nodes.empty()) continue;
    const std::vector<Kernel> kernels =
        catalog.KernelsAt(baseline.graph, nodes.front(), /*fuse=*/true);
    if (std::any_of(kernels.begin(), kernels.end(),
                    [&](const Kernel& kernel) { return catalog.NeedsAdmission(kernel); })) {
      steps.push_back(i);
    }
  }
  return steps.empty() ? 0 : SecondsToMeasureErrors(baseline, steps, given_inputs);
}

}  // namespace plait
