#include "optimizer/search/check_shapes.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "optimizer/plan/rebind_plan.h"
#include "optimizer/search/predicted_plan.h"
#include "optimizer/search/verification_seconds.h"

// A model of [N,8] has a plan for two rows. It is bound to three rows and to five, as a session
// binds it, and runs there beside the original with one kernel for each node:
//
//   shape x of [3,8]: equal
//   shape x of [5,8]: equal
//
// Where it differs at one of them the candidate is none.

namespace plait {
namespace {

// Nothing is timed. Two inputs, because a third says nothing that they do not.
constexpr VerificationBatch kBatch = {.loads = 1,
                                      .rounds = 1,
                                      .rounds_min = 1,
                                      .seconds_max = 1,
                                      .random_inputs = 2,
                                      .has_given_inputs = false};

std::string InputsText(const Graph& graph) {
  std::string text;
  for (const TensorId input : graph.inputs()) {
    const TensorInfo& info = graph.tensor(input);
    absl::StrAppend(&text, text.empty() ? "" : ", ", info.name == nullptr ? "?" : *info.name,
                    " of ", ShapeToString(info.type.shape));
  }
  return text;
}

absl::string_view VerdictText(Verdict verdict) {
  switch (verdict) {
    case Verdict::kEquivalent:
      return "equal";
    case Verdict::kDifferent:
      return "different";
    case Verdict::kInconclusive:
      return "inconclusive";
  }
  return "unknown";
}

}  // namespace

ShapeCheck::ShapeCheck(absl::Span<const Graph> originals, const ShapeCheckContext& context)
    : context_(context) {
  for (const Graph& original : originals) {
    absl::StatusOr<PlannedGraph> planned =
        PredictedBaseline(original, context_.device, context_.catalog, context_.engine_version);
    if (!planned.ok()) continue;
    PlanCandidate baseline = {CandidateId(original, planned->plan), original, planned->plan,
                              planned->predicted_us};
    shapes_.push_back({RebindTarget(original), std::move(baseline), InputsText(original)});
  }
}

double ShapeCheck::SecondsToCheck() const {
  double seconds = 0;
  for (const OtherShape& shape : shapes_) {
    const PlanCandidate pair[] = {shape.baseline, shape.baseline};
    seconds += SecondsToVerify(pair, kBatch);
  }
  return seconds;
}

bool ShapeCheck::IsRight(const PlanCandidate& candidate, const RewriteRecipe& recipe,
                         double seconds_reserved) {
  shapes_equal_ = 0;
  shapes_left_ = 0;
  for (OtherShape& shape : shapes_) {
    const PlanCandidate pair[] = {shape.baseline, shape.baseline};
    if (shapes_left_ > 0 || !HasSeconds(SecondsToVerify(pair, kBatch), seconds_reserved)) {
      ++shapes_left_;
      continue;
    }
    Equivalence equivalence;
    std::string said = Compare(shape, candidate, recipe, &equivalence);
    if (said.empty()) said = std::string(VerdictText(equivalence.verdict));
    absl::StrAppend(&context_.trace, "shape ", shape.text, ": ", said, "\n");
    if (equivalence.verdict == Verdict::kDifferent) return false;
    if (equivalence.verdict == Verdict::kEquivalent) ++shapes_equal_;
  }
  return true;
}

bool ShapeCheck::HasSeconds(double seconds, double seconds_reserved) {
  const bool has_seconds =
      context_.budget.AllowsTask(seconds) && context_.budget.HasSeconds(seconds + seconds_reserved);
  context_.log.AddTimeAnswer(has_seconds);
  return has_seconds;
}

// Kernels are exchanged only where those of the plan do not run: as who loads it does.
std::string ShapeCheck::Compare(OtherShape& shape, const PlanCandidate& candidate,
                                const RewriteRecipe& recipe, Equivalence* equivalence) {
  absl::StatusOr<ReboundPlan> rebound =
      shape.target.Rebind(candidate.graph, candidate.plan, recipe, context_.catalog);
  if (!rebound.ok()) return std::string(rebound.status().message());
  CandidateMeasurement measured = Measure(shape, *rebound);
  if (!measured.error.empty()) {
    const std::string error = measured.error;
    const absl::StatusOr<int> substituted =
        SubstituteKernels(rebound->graph, context_.catalog, &rebound->plan);
    if (!substituted.ok() || *substituted == 0) return error;
    absl::StatusOr<Plan> again =
        RebindPlan(rebound->graph, rebound->plan, rebound->graph, context_.catalog);
    if (!again.ok()) return error;
    rebound->plan = *std::move(again);
    measured = Measure(shape, *std::move(rebound));
    if (!measured.error.empty()) return measured.error;
  }
  *equivalence = measured.equivalence;
  return "";
}

// No failure of this may take away what was found. A replay needs an answer all the same.
CandidateMeasurement ShapeCheck::Measure(const OtherShape& shape, ReboundPlan rebound) {
  PlanCandidate candidate = {CandidateId(rebound.graph, rebound.plan), std::move(rebound.graph),
                             std::move(rebound.plan), shape.baseline.predicted_us};
  const PlanCandidate pair[] = {shape.baseline, std::move(candidate)};
  const absl::StatusOr<std::vector<CandidateMeasurement>> answer =
      context_.verifier.Verify(pair, kBatch);
  std::vector<CandidateMeasurement> measured(2);
  if (answer.ok() && answer->size() == 2) {
    measured = *answer;
  } else {
    measured[1].error =
        answer.ok() ? "no answer" : absl::StrCat("not compared: ", answer.status().message());
  }
  for (size_t i = 0; i < 2; ++i) measured[i].candidate = pair[i].id;
  context_.log.AddVerification(measured);
  return measured[1];
}

}  // namespace plait
