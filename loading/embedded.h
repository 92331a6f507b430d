#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gpu_worker/executor/executor.h"
#include "optimizer/onnx/bind.h"
#include "optimizer/onnx/embedded_plan.h"

namespace plait {

// Map of this folder:
//   model_file   a model's bytes, with external data
//   embedded     loads the plan that came inside of a model, if it fits
//   predicted_plan, predicted_profiler   a plan without one, and without measuring
//
// Plans name the engine that made them. Plans of a release are good for every build of it.
absl::string_view PlanEngineVersion();

// Why a model runs by the plan that it does.
enum class PlanReason {
  kFits,         // the plan inside the model is for this model and this device
  kNone,         // there is no plan inside
  kNotWanted,    // the caller asked for another
  kOtherEngine,  // it was made by another version of plait
  kOtherDevice,  // for another device, or another number of threads
  kOtherModel,   // for another graph, other inputs or outputs, or other shapes
  kInvalid,      // it is malformed, too large, or what it says cannot be loaded
};

// A graph with its plan. `weights` are what it is loaded from.
struct LoadedPlan {
  Graph graph;
  Plan plan;
  std::shared_ptr<const WeightSource> weights;
  std::unique_ptr<Executable> executable;  // nullptr until it is loaded on a device
};

// The graph and plan inside of `model`, not loaded yet. They are a stranger's: sizes and version
// are compared, and that one is for the other; all else is proven by LoadPlan. `reason` says why
// there is none, and kFits otherwise. Errors: NotFound where the model has none; ResourceExhausted,
// FailedPrecondition, InvalidArgument: the message completes "the plan in the model is ignored: ".
absl::StatusOr<LoadedPlan> ReadPlan(const Model& model, PlanReason* reason);

// The shapes given, and of inputs whose dimensions the model leaves open and nobody gives, those
// that the plan was made for.
Bindings ShapesFor(const Model& model, const LoadedPlan& planned, Bindings given);

// What ReadPlan gave, loaded, if it is for this device; `bound` is the model's own graph. A plan
// from a file is hostile input: device and interface are compared first, then the executor proves
// and loads it. Whatever the result, `reason` says why. Errors: FailedPrecondition,
// ResourceExhausted, InvalidArgument, NotFound, Unimplemented, with messages as those of ReadPlan.
absl::StatusOr<LoadedPlan> LoadPlan(LoadedPlan planned, const Graph& bound, Executor& executor,
                                    PlanReason* reason);

// A model without a plan needs a kernel for every node.
// Errors: InvalidArgument naming the first node that plait does not understand.
absl::Status CheckNoOpaqueNode(const Bound& bound);

}  // namespace plait
