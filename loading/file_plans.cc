#include "loading/file_plans.h"

#include <algorithm>
#include <utility>

#include "optimizer/ops/shared/op_spec.h"

namespace plait {
namespace {

bool IsOpen(const ModelValue& input) {
  return std::any_of(input.shape.begin(), input.shape.end(),
                     [](const Dimension& dimension) { return !dimension.known(); });
}

FilePlan Unusable(absl::Status status, PlanReason reason) {
  FilePlan plan;
  plan.status = std::move(status);
  plan.reason = reason;
  return plan;
}

FilePlan PlanOf(const absl::StatusOr<EmbeddedPlan>& embedded) {
  if (!embedded.ok()) return Unusable(embedded.status(), PlanReason::kInvalid);
  absl::StatusOr<Plan> header = ParsePlanHeader(embedded->plan);
  FilePlan plan;
  if (!header.ok()) {
    const bool is_other = absl::IsUnimplemented(header.status());
    plan = Unusable(header.status(), is_other ? PlanReason::kOtherEngine : PlanReason::kInvalid);
  } else {
    plan.header = *std::move(header);
  }
  plan.texts = *embedded;
  return plan;
}

}  // namespace

absl::string_view PlanEngineVersion() { return "plait-" PLAIT_VERSION; }

absl::string_view PlanGradeName(PlanGrade grade) {
  switch (grade) {
    case PlanGrade::kDefault:
      return "default";
    case PlanGrade::kSameInstructionSet:
      return "same_instruction_set";
    case PlanGrade::kExact:
      return "exact";
    default:
      return "none";
  }
}

std::vector<FilePlan> ReadFilePlans(const Model& model) {
  const auto embedded = ReadEmbeddedPlans(model);
  if (!embedded.ok()) return {Unusable(embedded.status(), PlanReason::kInvalid)};
  std::vector<FilePlan> plans;
  for (const absl::StatusOr<EmbeddedPlan>& plan : *embedded) plans.push_back(PlanOf(plan));
  return plans;
}

// A server's plan for fewer threads than its worker has may still name the worker's.
PlanGrade GradeOn(const Plan& header, const DeviceDescription& device) {
  if (header.threads != device.threads) return PlanGrade::kNone;
  const std::string& made_on = header.device_fingerprint;
  if (FingerprintWithThreads(made_on, header.threads) == device.fingerprint) {
    return PlanGrade::kExact;
  }
  const absl::string_view instructions = InstructionSetOfFingerprint(made_on);
  const bool is_same = !instructions.empty() && instructions == device.instruction_set &&
                       BackendOfFingerprint(made_on) == device.backend;
  return is_same ? PlanGrade::kSameInstructionSet : PlanGrade::kNone;
}

int ThreadsOfPlans(absl::Span<const FilePlan> plans, const DeviceDescription& device) {
  std::pair<PlanGrade, int> best = {PlanGrade::kNone, 0};
  for (const FilePlan& plan : plans) {
    const int threads = plan.header.threads;
    if (!plan.status.ok() || threads > device.threads) continue;
    DeviceDescription narrowed = device;
    narrowed.threads = threads;
    narrowed.fingerprint = FingerprintWithThreads(device.fingerprint, threads);
    best = std::max(best, {GradeOn(plan.header, narrowed), threads});
  }
  return best.second > 0 ? best.second : device.threads;
}

bool HaveSameInterface(const Graph& a, const Graph& b) {
  const auto same = [&](absl::Span<const TensorId> of_a, absl::Span<const TensorId> of_b) {
    return std::equal(
        of_a.begin(), of_a.end(), of_b.begin(), of_b.end(), [&](TensorId x, TensorId y) {
          const auto& name = a.tensor(x).name;
          const auto& other = b.tensor(y).name;
          return a.type(x) == b.type(y) && name != nullptr && other != nullptr && *name == *other;
        });
  };
  return same(a.inputs(), b.inputs()) && same(a.outputs(), b.outputs());
}

Bindings ShapesFor(const Model& model, const Graph& graph, Bindings given) {
  for (const ModelValue& input : model.inputs()) {
    if (!IsOpen(input) || given.contains(input.name)) continue;
    for (const TensorId id : graph.inputs()) {
      const auto& name = graph.tensor(id).name;
      if (name != nullptr && *name == input.name) given[*name] = graph.type(id).shape;
    }
  }
  return given;
}

Bindings ShapesOfPlans(const Model& model, absl::Span<const FilePlan> plans, Bindings given) {
  for (const FilePlan& plan : plans) {
    if (!plan.status.ok()) continue;
    const absl::StatusOr<Graph> graph = ParseTypedGraph(plan.texts.graph);
    if (graph.ok()) return ShapesFor(model, *graph, std::move(given));
  }
  return given;
}

}  // namespace plait
