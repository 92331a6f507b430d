#include "loading/embedded.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ops/shared/op_spec.h"

namespace plait {
namespace {

// The plan is for a graph whose names and types of inputs and outputs are those of the model.
absl::Status CheckSameInterface(const Graph& embedded, const Graph& model) {
  const auto same = [&](absl::Span<const TensorId> a, absl::Span<const TensorId> b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](TensorId x, TensorId y) {
      const auto& name = embedded.tensor(x).name;
      const auto& other = model.tensor(y).name;
      return embedded.type(x) == model.type(y) && name != nullptr && other != nullptr &&
             *name == *other;
    });
  };
  if (same(embedded.inputs(), model.inputs()) && same(embedded.outputs(), model.outputs())) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError("it is for other inputs or outputs, or for other shapes");
}

absl::Status CheckVersion(absl::string_view version) {
  if (version.substr(0, version.find('+')) == PlanEngineVersion()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("it was made by engine ", version, ", this is ", PlanEngineVersion()));
}

absl::Status CheckDevice(const Plan& plan, const DeviceDescription& device) {
  if (plan.device_fingerprint == device.fingerprint) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("it was made for another device (",
                                                    plan.device_fingerprint,
                                                    "; optimize the model on this one)"));
}

bool IsOpen(const ModelValue& input) {
  return std::any_of(input.shape.begin(), input.shape.end(),
                     [](const Dimension& dimension) { return !dimension.known(); });
}

}  // namespace

// The server's without the digest of its build: plans of another release may mean other things.
absl::string_view PlanEngineVersion() { return "plait-" PLAIT_VERSION; }

absl::StatusOr<LoadedPlan> ReadPlan(const Model& model, PlanReason* reason) {
  *reason = PlanReason::kInvalid;
  PLAIT_ASSIGN_OR_RETURN(const std::optional<EmbeddedPlan> embedded, ReadEmbeddedPlan(model));
  *reason = PlanReason::kNone;
  if (!embedded.has_value()) return absl::NotFoundError("the model has no plan");
  *reason = PlanReason::kOtherEngine;
  PLAIT_RETURN_IF_ERROR(CheckVersion(embedded->version));
  LoadedPlan planned;
  *reason = PlanReason::kInvalid;
  PLAIT_ASSIGN_OR_RETURN(planned.graph, ParseTypedGraph(embedded->graph));
  PLAIT_ASSIGN_OR_RETURN(planned.plan, ParsePlan(embedded->plan));
  *reason = PlanReason::kOtherModel;
  if (planned.plan.graph_fingerprint != planned.graph.fingerprint().ToString()) {
    return absl::FailedPreconditionError("it is for another graph");
  }
  planned.weights = std::make_shared<ModelWeights>(model.weights());
  *reason = PlanReason::kFits;
  return planned;
}

Bindings ShapesFor(const Model& model, const LoadedPlan& planned, Bindings given) {
  for (const ModelValue& input : model.inputs()) {
    if (!IsOpen(input) || given.contains(input.name)) continue;
    for (const TensorId id : planned.graph.inputs()) {
      const auto& name = planned.graph.tensor(id).name;
      if (name != nullptr && *name == input.name) given[*name] = planned.graph.type(id).shape;
    }
  }
  return given;
}

absl::StatusOr<LoadedPlan> LoadPlan(LoadedPlan planned, const Graph& bound, Executor& executor,
                                    PlanReason* reason) {
  // From the cheapest check to the dearest.
  *reason = PlanReason::kOtherDevice;
  PLAIT_RETURN_IF_ERROR(CheckDevice(planned.plan, executor.device()));
  *reason = PlanReason::kOtherModel;
  PLAIT_RETURN_IF_ERROR(CheckSameInterface(planned.graph, bound));
  // Loading proves that graph and plan read and write only where they may, and finds weights that
  // the file lacks.
  *reason = PlanReason::kInvalid;
  PLAIT_ASSIGN_OR_RETURN(planned.executable,
                         executor.Load(planned.graph, planned.plan, *planned.weights));
  *reason = PlanReason::kFits;
  return planned;
}

absl::Status CheckNoOpaqueNode(const Bound& bound) {
  if (bound.opaque_nodes.empty()) return absl::OkStatus();
  const OpaqueNode& node = bound.opaque_nodes.front();
  return absl::InvalidArgumentError(
      absl::StrCat("node ", node.name, ": ", node.op_type, " cannot be run: ", node.reason));
}

}  // namespace plait
