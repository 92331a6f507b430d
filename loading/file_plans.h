#pragma once

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "optimizer/kernels/device.h"
#include "optimizer/onnx/bind.h"
#include "optimizer/onnx/embedded_plan.h"
#include "optimizer/plan/plan.h"
#include "optimizer/plan/same_interface.h"

namespace plait {

// Map of this folder:
//   model_file   a model's bytes, with external data
//   file_plans   the plans that came inside of a model, and for which devices they are
//   choose_plan  which of them runs here, and why; it is loaded then
//   plan_rebinder   the same for shapes that none of them is for
//   substitute_variants   what stands in for kernels of another version
//   default_plan   what runs where none of them does
//   load_segments, segmented_model   a model around nodes that plait does not understand
//   host_runner   what runs those nodes
//
// What made a plan names itself so: the server's engine version without the digest of its build.
absl::string_view PlanEngineVersion();

// Why a model runs by the plan that it does.
enum class PlanReason {
  kFits,                // a plan inside the model is for this model and this device
  kNone,                // there is no plan inside
  kNotWanted,           // the caller asked for another
  kOtherEngine,         // it is in a form that this version of plait does not read
  kOtherDevice,         // for other instructions, or another number of threads
  kOtherModel,          // for another graph, other inputs or outputs, or other shapes
  kInvalid,             // it is malformed, too large, or what it says cannot be loaded
  kSameInstructionSet,  // for another device of the same instruction set and threads: used
  kOtherShapes,         // for other shapes, and bound to these: used
};

// How well a plan suits a device, from worst to best.
enum class PlanGrade {
  kNone,                // not at all, or the plan was not looked for
  kDefault,             // it was made when the model was loaded, by predicted times
  kSameInstructionSet,  // measured on another processor of these instructions and threads
  kExact,               // measured on such a device
};

// "none", "default", "same_instruction_set" or "exact".
absl::string_view PlanGradeName(PlanGrade grade);

// A plan of a file, of which only the header has been read.
struct FilePlan {
  EmbeddedPlan texts;
  Plan header;
  absl::Status status;                    // not OK: this version cannot use it on any device
  PlanReason reason = PlanReason::kFits;  // why not
};

// The plans inside of a model, in their order. They are a stranger's: nothing but headers is
// believed, and that at its word. Where a file has more than it may, there is one without a plan
// that says so. Pure and thread-safe, as all of this header.
std::vector<FilePlan> ReadFilePlans(const Model& model);

// Whether the kernels of a plan with this header are those that the device has, for whatever number
// of threads.
bool IsForInstructions(const Plan& header, const DeviceDescription& device);

// How well a plan with this header suits the device, whatever the shapes: kExact,
// kSameInstructionSet or kNone. A plan for fewer instructions than the device has does not suit it:
// what it chose among, this device has better kernels for.
PlanGrade GradeOn(const Plan& header, const DeviceDescription& device);

// How many of a device's threads the plans are for: of those that suit it best, the most that it
// has; of any, where none does. All that the device has where every plan is for more.
int ThreadsOfPlans(absl::Span<const FilePlan> plans, const DeviceDescription& device);

// Whether the plan was made from another graph than this one, which is the model at its shapes or a
// part of that: somebody changed the model. False where this cannot be said, as of plans that do
// not name what they were made from, or were made by an engine that may read models differently.
bool IsOfOtherModel(const FilePlan& plan, const Graph& original);

// Whether another version of plait wrote the plan.
bool IsOfOtherEngine(const FilePlan& plan);

// Whether the model leaves a dimension of the input open.
bool IsOpen(const ModelValue& input);

// The shapes given, and of inputs whose dimensions the model leaves open and nobody gives, those of
// the graph, which is that of a plan, but for dimensions whose names the shapes given settle.
Bindings ShapesFor(const Model& model, const Graph& graph, Bindings given);

// The same of the first plan whose graph can be read; what is given where there is none.
Bindings ShapesOfPlans(const Model& model, absl::Span<const FilePlan> plans, Bindings given);

}  // namespace plait
