#pragma once

#include <memory>
#include <optional>
#include <string>

#include "absl/types/span.h"
#include "gpu_worker/executor/executor.h"
#include "loading/file_plans.h"

namespace plait {

// A graph with its plan. `weights` are what it is loaded from.
struct LoadedPlan {
  Graph graph;
  Plan plan;
  std::shared_ptr<const WeightSource> weights;
  std::unique_ptr<Executable> executable;  // nullptr until it is loaded on a device
};

// Which plan of a file runs on a device, by which grade, and why.
struct PlanChoice {
  std::optional<LoadedPlan> loaded;  // nullopt: none does
  PlanGrade grade = PlanGrade::kNone;
  PlanReason reason = PlanReason::kNone;
  std::string explanation;  // a sentence without its end
};

// Chooses among the plans of a file and loads the one chosen: of those that suit the device and are
// for the shapes given, the best by GradeOn, and of equal ones the first in the file. An input that
// the model leaves open and nobody gives gets the shape that the plan was made for.
//
// A plan is used as a whole or not at all. A plan from a file is hostile input: its device and
// shapes are compared first, then its graph's inputs and outputs with the model's, then the
// executor proves and loads it. What fails is passed over, and the explanation says why the best of
// them was. Kernels in variants that this version does not know run in others of their families
// (substitute_variants.h), which is said. Never fails.
PlanChoice ChoosePlan(const Model& model, absl::Span<const FilePlan> plans, const Bindings& given,
                      Executor& executor);

// The same for a part of the model that is bound already and has other inputs and outputs than the
// whole. `graph` must outlive the call.
PlanChoice ChoosePlanOfPart(const Model& model, const Graph& graph,
                            absl::Span<const FilePlan> plans, Executor& executor);

}  // namespace plait
