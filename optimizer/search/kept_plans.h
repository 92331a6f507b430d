#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "optimizer/onnx/bind.h"
#include "optimizer/onnx/embedded_plan.h"
#include "optimizer/plan/plan.h"

// The plans that a file came with, for a file that is made from it: of plans for several devices
// each is made on its own. Pure and thread-safe.
namespace plait {

// One of them that is still for the model.
struct KeptPlan {
  EmbeddedPlan texts;
  Plan header;                                        // of the plan, without steps and values
  std::string device_fingerprint;                     // with as many threads as the plan is for
  std::vector<std::pair<std::string, Shape>> inputs;  // of the plan's graph
};

struct KeptPlans {
  std::vector<KeptPlan> plans;  // in the file's order
  // Why others are left out, a sentence for each reason.
  std::vector<std::string> warnings;
};

// Those of a model's plans that are for this model: made from the graph that it is at the plan's
// shapes, operator by operator and weight by weight, or from an island of it; with its inputs and
// outputs, over its weights, and as CheckPlan wants it. Of plans for the same device and shapes it
// is the first. They may come from anyone: what is damaged, larger than a plan may make a file of
// so many bytes, or for anything else is left out. That a plan computes what the model does is not
// proved again.
// `given` are shapes for inputs that the plan of an island does not read. Binds the model once for
// each of the shapes that plans are for. Never fails.
KeptPlans ReadKeptPlans(const Model& model, int64_t file_bytes, const Bindings& given);

// What a plan is for, as one line: the device with its threads, and what the plan was made from. A
// file needs one plan for each. REQUIRES: as PrintPlan wrote the plan.
std::string PlanKey(const EmbeddedPlan& plan);
// The same of a plan that is not made yet, for a graph of the model.
std::string PlanKey(absl::string_view device_fingerprint, int threads, const Graph& made_from);

// Those that are for something else than all of `made`; they live as long as `kept`.
std::vector<const KeptPlan*> KeptBeside(absl::Span<const EmbeddedPlan> made,
                                        absl::Span<const KeptPlan> kept);

// The graphs that plans of the model at these shapes are for: its islands, or the whole of it.
// Errors: those of Bind.
absl::StatusOr<std::vector<Graph>> PlannedParts(const Model& model, const Bindings& shapes);

}  // namespace plait
