#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "client/json.h"
#include "client/loaded_model.h"
#include "gpu_worker/executor/time_steps.h"
#include "optimizer/plan/plan.h"

namespace plait {

// One launch of a plan, with what a person or a script asks of it.
struct ExplainedStep {
  int place = 0;  // in launch order, from 0
  int stream = 0;
  int width = 1;  // threads of a processor
  std::string family;
  std::string variant;
  std::vector<std::string> operators;  // "Conv", in order; none for a conversion of formats
  std::vector<std::string> nodes;      // their names in the graph that runs; "" where one has none
  std::string output;                  // type of the first output, "float32[1,64,56,56]"
  std::string format;                  // how that lies in memory
  int64_t flops = 0;
  int64_t bytes = 0;  // inputs, outputs and weights, each once
  bool is_copy = false;
  double us = 0;  // measured in its place
};

// The steps of a plan with the time that each took. Pure.
// REQUIRES: the plan is of this graph, and `step_us` has one time per step.
std::vector<ExplainedStep> ExplainSteps(const Plan& plan, const Graph& graph,
                                        absl::Span<const double> step_us);

// The same of a model, timed now on the device. Errors: those of TimeSteps.
absl::StatusOr<std::vector<ExplainedStep>> ExplainModel(const LoadedModel& model,
                                                        Executor& executor,
                                                        const StepTimesOptions& timing);

// The time of all steps, one after the other.
double SumUs(absl::Span<const ExplainedStep> steps);

// "conv_direct nhwc": a step's family and variant.
std::string KernelText(const ExplainedStep& step);

// Those that run a node of this name.
std::vector<ExplainedStep> StepsWithNode(absl::Span<const ExplainedStep> steps,
                                         absl::string_view name);

// [{"step", "stream", "width", "family", "variant", "operators", "nodes", "output", "format",
// "flops", "bytes", "copy", "us"}]
Json StepsJson(absl::Span<const ExplainedStep> steps);

// [{"family", "steps", "us", "flops", "bytes"}], that which takes longest first.
Json FamiliesJson(absl::Span<const ExplainedStep> steps);

// Both as tables, of the steps those `top` that take longest (0: all, in launch order). Shares are
// of the time of all steps.
std::string FamiliesTable(absl::Span<const ExplainedStep> steps);
std::string StepsTable(absl::Span<const ExplainedStep> steps, size_t top);

}  // namespace plait
