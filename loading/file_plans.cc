#include "loading/file_plans.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "optimizer/ops/shared/op_spec.h"

namespace plait {
namespace {

// By the names of dimensions.
using Sizes = absl::flat_hash_map<std::string, int64_t>;

// Of the dimensions with a name that the inputs of these shapes have.
Sizes SizesOf(const Model& model, const Bindings& given) {
  Sizes sizes;
  for (const ModelValue& input : model.inputs()) {
    const auto shape = given.find(input.name);
    if (shape == given.end() || shape->second.size() != input.shape.size()) continue;
    for (size_t axis = 0; axis < input.shape.size(); ++axis) {
      const std::string& symbol = input.shape[axis].symbol;
      if (!symbol.empty()) sizes[symbol] = shape->second[axis];
    }
  }
  return sizes;
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

bool IsOpen(const ModelValue& input) {
  return std::any_of(input.shape.begin(), input.shape.end(),
                     [](const Dimension& dimension) { return !dimension.known(); });
}

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

bool IsForInstructions(const Plan& header, const DeviceDescription& device) {
  const absl::string_view instructions = InstructionSetOfFingerprint(header.device_fingerprint);
  return !instructions.empty() && instructions == device.instruction_set &&
         BackendOfFingerprint(header.device_fingerprint) == device.backend;
}

// A server's plan for fewer threads than its worker has may still name the worker's.
PlanGrade GradeOn(const Plan& header, const DeviceDescription& device) {
  if (header.threads != device.threads) return PlanGrade::kNone;
  const std::string& made_on = header.device_fingerprint;
  if (FingerprintWithThreads(made_on, header.threads) == device.fingerprint) {
    return PlanGrade::kExact;
  }
  return IsForInstructions(header, device) ? PlanGrade::kSameInstructionSet : PlanGrade::kNone;
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

bool IsOfOtherEngine(const FilePlan& plan) {
  const absl::string_view engine = plan.texts.version;
  return engine.substr(0, engine.find('+')) != PlanEngineVersion();
}

bool IsOfOtherModel(const FilePlan& plan, const Graph& original) {
  return !plan.texts.original.empty() && !IsOfOtherEngine(plan) &&
         plan.texts.original != original.fingerprint().ToString();
}

Bindings ShapesFor(const Model& model, const Graph& graph, Bindings given) {
  const Sizes settled = SizesOf(model, given);
  for (const ModelValue& input : model.inputs()) {
    if (!IsOpen(input) || given.contains(input.name)) continue;
    for (const TensorId id : graph.inputs()) {
      const auto& name = graph.tensor(id).name;
      if (name == nullptr || *name != input.name) continue;
      Shape shape = graph.type(id).shape;
      for (size_t axis = 0; axis < std::min(shape.size(), input.shape.size()); ++axis) {
        const auto size = settled.find(input.shape[axis].symbol);
        if (size != settled.end()) shape[axis] = size->second;
      }
      given[*name] = std::move(shape);
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
